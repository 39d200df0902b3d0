(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");

  const select = document.getElementById("pick");
  const episodes = [...document.querySelectorAll(".episode")];
  const show = (id, scroll) => {
    if (!episodes.some((e) => e.id === id)) return;
    episodes.forEach((e) => e.classList.toggle("current", e.id === id));
    document.querySelectorAll("tr[data-anchor]").forEach((r) => r.classList.toggle("chosen", r.dataset.anchor === id));
    if (select) select.value = id;
    if (scroll) document.getElementById("episodes").scrollIntoView({ behavior: "smooth", block: "start" });
  };
  if (select) {
    const step = (by) => {
      select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
      show(select.value, false);
    };
    select.addEventListener("change", () => show(select.value, false));
    document.getElementById("previous").addEventListener("click", () => step(-1));
    document.getElementById("next").addEventListener("click", () => step(1));
    show(location.hash.slice(1) || select.value, false);
  }
  document.querySelectorAll('a[href^="#episode-"]').forEach((a) =>
    a.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", a.getAttribute("href"));
      show(a.getAttribute("href").slice(1), true);
    }),
  );

  const table = document.getElementById("operators");
  if (table) {
    const body = table.tBodies[0];
    table.querySelectorAll("th button").forEach((button) => {
      const head = button.parentElement;
      const index = head.cellIndex;
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[index].dataset.sort;
        const numeric = head.classList.contains("number");
        const compare = (a, b) => {
          const x = key(a), y = key(b);
          if (!numeric) return x.localeCompare(y);
          if (x === "" || y === "") return (x === "") - (y === "") || 0;
          return Number(x) - Number(y);
        };
        const empty = (row) => numeric && key(row) === "";
        [...body.rows]
          .sort((a, b) => (empty(a) || empty(b) ? empty(a) - empty(b) : (down ? -1 : 1) * compare(a, b)))
          .forEach((row) => body.append(row));
      });
    });
    const search = document.getElementById("filter");
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w));
    });
  }
})();
