"""`kgb list` and `kgb show`: what there is to solve."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kgb_gym.cli import catalogue, find
from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import console, print_json

if TYPE_CHECKING:
    from kgb_gym.operators import Operator


def list_operators(source: str | None, as_json: bool) -> None:
    """Print the catalogue."""
    if source is not None and source not in catalogue.SOURCES:
        raise WrongUse(f"unknown source {source!r}: use one of {', '.join(catalogue.SOURCES)}")
    found = catalogue.entries(source)
    if as_json:
        print_json(found)
        return
    from rich.table import Table

    suites = list(found[0]["k"]) if found else []
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operator", no_wrap=True)
    table.add_column("environment", no_wrap=True)
    for suite in suites:
        table.add_column(f"k {suite}", justify="right")
    table.add_column("interfaces", overflow="fold")
    for entry in found:
        counts = [str(entry["k"][s] + entry["k_extra"][s] + entry["k_beyond"][s]) for s in suites]
        table.add_row(entry["name"], entry["env_id"], *counts, ", ".join(entry["interfaces"]))
    out = console()
    out.print(table)
    out.print(
        f"{len(found)} operators. `kgb show {found[0]['name'] if found else 'OP'}` tells more of one.", style="dim"
    )


def show(name: str, suite: str, platform: str, as_json: bool, prompt: bool, cases: bool, agentic: bool) -> None:
    """Print one operator, its prompt, or its cases."""
    operator = find.operator(name)
    place = find.platform(platform)
    chosen = find.suite(suite, place)
    text = _prompt(operator, chosen, place.name, agentic) if prompt or agentic else None
    if as_json:
        print_json(_plain(operator, chosen, text, cases))
    elif text is not None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    elif cases:
        for case in operator.cases(chosen):
            print(f"{case.id}\t{case.origin}{' timed' if case.timed else ''}")
    else:
        _print(operator)


def _prompt(operator: Operator, suite: str, platform: str, agentic: bool) -> str:
    from kgb_gym import prompts
    from kgb_gym.envs.tools import TOOLS

    tools = tuple(tool.schema() for tool in TOOLS.values()) if agentic else ()
    return prompts.render(operator, platform, suite, agentic=agentic, tools=tools)


def _plain(operator: Operator, suite: str, prompt: str | None, cases: bool) -> dict[str, Any]:
    from kgb_gym.operators import SUITES
    from kgb_gym.prompts.signatures import functions

    found: dict[str, Any] = {
        "name": operator.id,
        "source": operator.source,
        "env_id": operator.env_id,
        "interfaces": [
            {"name": i.name, "function": i.function, "signature": line, "schema": schema, "writes": list(i.writes)}
            for i, line, schema in zip(operator.interfaces, functions(operator), _schemas(operator), strict=True)
        ],
        "description": operator.description,
        "notes": list(operator.notes),
        "flags": _flags(operator),
        "left_out": [{"interface": name, "reason": reason} for name, reason in operator.left_out],
    }
    for count in ("k", "k_extra", "k_beyond", "k_timed"):
        found[count] = {s: operator.counts(s)[count] for s in SUITES}
    if prompt is not None:
        found["prompt"] = prompt
    if cases:
        found["suite"] = suite
        found["cases"] = [
            {"case": c.id, "interface": c.interface, "params": dict(c.params), "origin": c.origin, "timed": c.timed}
            for c in operator.cases(suite)
        ]
    return found


def _schemas(operator: Operator) -> tuple[str | None, ...]:
    if operator.source != "aten":
        return (None,) * len(operator.interfaces)
    from kgb_gym.prompts.facts import schemas

    return schemas(operator)


def _flags(operator: Operator) -> dict[str, bool]:
    names = ("view", "random", "kernel_required", "data_dependent")
    return {name: bool(getattr(operator, name)) for name in names}


def _print(operator: Operator) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    from kgb_gym.operators import SUITES
    from kgb_gym.prompts.signatures import functions

    out = console()
    out.print(f"[bold]{operator.id}[/]  {operator.env_id}")
    if operator.description:
        out.print(Padding(escape(operator.description.strip()), (1, 0, 1, 2)))
    out.print("[bold]defines[/]")
    for line in functions(operator):
        out.print(f"  {escape(line)}", soft_wrap=True)
    out.print("[bold]cases[/]")
    for suite in SUITES:
        counts = operator.counts(suite)
        beyond = f", {counts['k_beyond']} beyond" if counts["k_beyond"] else ""
        told = f"{counts['k']:5} of the paper, {counts['k_extra']} extra{beyond}, {counts['k_timed']} timed"
        out.print(f"  {suite:8} {told}")
    flags = [name for name, on in _flags(operator).items() if on and name != "kernel_required"]
    flags += [] if operator.kernel_required else ["no kernel needed"]
    if flags:
        out.print(f"[bold]flags[/]    {', '.join(flags)}")
    for note in operator.notes:
        out.print(Padding(f"- {escape(note)}", (0, 0, 0, 2)))
    for name, reason in operator.left_out:
        out.print(f"  left out: {name} ({escape(reason)})", style="dim")
    out.print(f"\n`kgb show {operator.id} --prompt` prints what a model is told.", style="dim")
