"""Agents from start to end: what they are given, what they are kept from, and what is recorded of them."""

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import datasets
import psutil
import pytest

from kgb_gym.baselines.agents import INSTRUCTIONS, PROGRAMS, AgentPolicy, Reach, find_program, launch
from kgb_gym.baselines.models import MissingProgram, ModelRefused, ModelUnavailable
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer
from kgb_gym.operators import gold_source

pytestmark = pytest.mark.skipif(not launch.fence.abi(), reason="this kernel has no Landlock: agents are refused on it")


def steps_of(folder):
    return datasets.load_dataset(str(folder), "steps", split="train", cache_dir=str(folder.parent / "cache")).to_list()


WORKS = """
assert "implements the operator `aten/cos`" in open("TASK.md").read()
assert "verify kernel.py" in open("TASK.md").read()
write("# mismatch")
code, said = verify()
assert code == 1 and "should be 2.0, is 1.5" in said, said
say(type="assistant", message={"id": "m1", "usage": {"input_tokens": 100, "output_tokens": 20,
                                                      "cache_read_input_tokens": 900}})
write("# passed better", "other.py")
code, said = verify("other.py", "--json")
assert code == 0 and json.loads(said)["clean"] is True, said
write("# passed best")
say(type="result", usage={"input_tokens": 300, "output_tokens": 50, "cache_read_input_tokens": 1000})
"""


def test_what_an_agent_verifies_becomes_steps_and_its_last_kernel_too(program, agent, play, tmp_path):
    summary = play(agent(program(WORKS)), record=tmp_path / "run")
    assert summary.statuses == ("mismatch", "passed", "passed")
    assert (summary.method, summary.model, summary.synthetic, summary.terminated) == (
        "claude-code", "stand-in", False, True,
    )  # fmt: skip
    steps = steps_of(tmp_path / "run")
    assert [s["code"] for s in steps] == ["# mismatch", "# passed better", "# passed best"]
    assert [s["usage_source"] for s in steps] == ["counted", "reported", "reported"]
    assert [(s["prompt_tokens"], s["cached_tokens"], s["completion_tokens"]) for s in steps[1:]] == [
        (1000, 900, 20), (300, 100, 30),
    ]  # fmt: skip
    assert steps[-1]["finish_reason"] == "exit 0"
    assert '"type": "result"' in steps[-1]["completion"]


def test_the_call_and_the_environment(program, agent, play, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hands off")
    monkeypatch.setenv("OPENAI_API_KEY", "hands off")
    monkeypatch.setenv("KGB_TEST_EXTRA", "wanted")
    body = """
        say(arguments=sys.argv[1:], environment=dict(os.environ), cwd=os.getcwd())
        write("# passed")
    """
    play(agent(program(body), reach={"pass_env": ("KGB_TEST_EXTRA",)}), record=tmp_path / "run")
    (step,) = steps_of(tmp_path / "run")
    seen = json.loads(step["completion"])
    assert seen["arguments"][0] == "--print"
    assert "Read TASK.md" in seen["arguments"][1]
    assert seen["arguments"][2:] == [
        "--model", "stand-in", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
    ]  # fmt: skip
    environment = seen["environment"]
    assert "hands off" not in environment.values()
    assert "the-real-key" not in json.dumps(seen)
    assert environment["KGB_TEST_EXTRA"] == "wanted"
    assert environment["HOME"] == "(folder)/home", "folders' names are left out of the record"
    assert environment["ANTHROPIC_API_KEY"] == environment["KGB_VERIFY_SECRET"] == "(secret)"
    assert seen["cwd"] == "(folder)/work"


def test_an_agent_is_kept_from_everything_but_its_folders_and_its_model(program, agent, play, tmp_path, root):
    secret = tmp_path / "secret.txt"
    secret.write_text("nothing for agents")
    with LoopbackServer(lambda request: Answer("no")) as other:
        body = f"""
            import signal, socket
            tried = {{}}
            def attempt(name, action):
                try:
                    tried[name] = str(action())
                except Exception as error:
                    tried[name] = type(error).__name__
            attempt("gold", lambda: open({str(root / "operators/aten/gold/cos.py")!r}).read())
            attempt("package", lambda: __import__("kgb_gym.operators"))
            attempt("file", lambda: open({str(secret)!r}).read())
            attempt("write", lambda: open({str(tmp_path / "new.txt")!r}, "w"))
            attempt("judge's environment", lambda: open("/proc/{os.getpid()}/environ").read())
            attempt("judge's memory", lambda: open("/proc/{os.getpid()}/mem", "rb").read(1))
            attempt("signal", lambda: os.kill({os.getpid()}, 0))
            attempt("other server", lambda: urllib.request.urlopen({other.root + "/v1/models"!r}).status)
            attempt("verify", lambda: open(os.environ["PATH"].split(":")[0] + "/verify", "a"))
            attempt("work", lambda: open("notes.txt", "w").write("x"))
            attempt("home", lambda: open(os.environ["HOME"] + "/notes.txt", "w").write("x"))
            attempt("torch", lambda: os.listdir(os.path.dirname({launch.fences.readable()[0]!r})) is not None)
            attempt("model", lambda: "I see." in ask())
            say(tried=tried)
            write("# passed")
        """
        play(agent(program(body)), record=tmp_path / "run")
    (step,) = steps_of(tmp_path / "run")
    tried = json.loads(step["completion"].splitlines()[0])["tried"]
    refused = {"gold", "file", "write", "judge's environment", "judge's memory", "verify"}
    assert {name: tried[name] for name in refused} == dict.fromkeys(refused, "PermissionError")
    assert tried["package"] in {"PermissionError", "ModuleNotFoundError"}
    if launch.fence.abi() >= 4:
        assert tried["other server"] == "URLError"
    assert (tried["work"], tried["home"], tried["model"]) == ("1", "1", "True")
    if launch.fence.abi() >= 6:
        assert tried["signal"] == "PermissionError"


def test_the_key_is_added_on_the_way_and_tokens_are_counted_there(program, agent, play, server, tmp_path):
    body = """
        assert "I see." in ask("one two three")
        write("# mismatch")
        verify()
        try:
            os.environ["ANTHROPIC_API_KEY"] = "guessed"
            ask()
        except urllib.error.HTTPError as error:
            assert error.code == 401
    """
    play(agent(program("import urllib.error\n" + body.replace("\n        ", "\n"))), record=tmp_path / "run")
    assert [r.key for r in server.requests] == ["the-real-key"]
    first, last = steps_of(tmp_path / "run")
    assert (first["usage_source"], first["prompt_tokens"], first["cached_tokens"]) == ("reported", 3, 2)
    assert first["completion_tokens"] == 3
    assert (last["tool"], last["prompt_tokens"]) == ("finish", 0)


def test_tools(program, agent, play, engine, tmp_path):
    body = """
        write("# passed")
        assert verify("--test", "*")[0] == 0
        assert "no case matches" in verify("--test", "*float99*")[1]
        assert verify("--compile")[0] == 0
        assert "# Specification" in verify("--spec")[1]
        assert "cos" in verify("--cases")[1]
        code, said = verify("missing.py")
        assert code == 2 and "can't be read" in said
    """
    summary = play(agent(program(body)), record=tmp_path / "run")
    assert summary.statuses == ("passed",), "tools are no submissions; the kernel that was left is one"
    assert [s["tool"] for s in steps_of(tmp_path / "run")] == [
        "test",
        "test",
        "compile",
        "read_spec",
        "read_spec",
        None,
    ]
    assert [j.kind for j in engine.jobs] == ["test", "compile", "verify"]


def test_an_agent_that_never_ends_is_killed_with_all_it_started_and_its_kernel_is_kept(program, agent, play, tmp_path):
    marker = f"kgb-test-{os.getpid()}"
    body = f"""
        write("# passed")
        for argv in (["sleep", "100"], ["setsid", "sleep", "101"]):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", {marker!r}], start_new_session=True)
        subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 100; : {marker}"])
        say(started=True)
        time.sleep(100)
    """
    began = time.monotonic()
    summary = play(agent(program(body), wall_s=3.0), record=tmp_path / "run")
    assert time.monotonic() - began < 40
    assert summary.statuses == ("passed",)
    (step,) = steps_of(tmp_path / "run")
    assert step["finish_reason"] == "wall_budget"
    assert '"started": true' in step["completion"]
    left = [p for p in psutil.process_iter(["cmdline"]) if marker in " ".join(p.info["cmdline"] or ())]
    assert left == []


def test_closing_from_another_thread_ends_an_agent_at_work(program, agent, make_env):
    policy = AgentPolicy("claude-code", agent(program("time.sleep(100)")))
    observation, info = make_env().reset(seed=1, options={"operator": "aten/cos"})
    policy.reset("aten/cos", 1)
    threading.Timer(1.0, policy.close).start()
    with pytest.raises(RuntimeError, match="ended from outside"):
        policy.act(observation, info)


@pytest.fixture
def make_env(engine):
    import gymnasium

    made = []

    def build():
        made.append(gymnasium.make("kgb/aten-cos-v0", engine=engine, platform="cpu", suite="smoke", prompt="agentic"))
        return made[-1]

    yield build
    for env in made:
        env.close()


@pytest.mark.parametrize("trick", ["link", "fifo", "folder", "hard link"])
def test_only_a_plain_file_is_read_as_the_kernel(program, agent, play, root, trick):
    """What we may read and the agent may not: a link in the kernel's place would hand it over."""
    target = str(root / "operators/aten/gold/cos.py")
    tricks = {
        "link": f"os.symlink({target!r}, 'kernel.py')",
        "fifo": "os.mkfifo('kernel.py')",
        "folder": "os.mkdir('kernel.py')",
        "hard link": f"\ntry:\n    os.link({target!r}, 'kernel.py')\nexcept OSError:\n    pass",
    }
    assert play(agent(program(tricks[trick]))).outcome == "no_submission"
    assert gold_source("aten/cos")


def test_a_wrong_secret_is_turned_away(program, agent, play):
    body = """
        write("# passed")
        os.environ["KGB_VERIFY_SECRET"] = "guessed"
        code, said = verify()
        assert code == 2 and "secret is wrong" in said, said
        os.remove("kernel.py")
        write("x" * (2 << 20))
    """
    assert play(agent(program(body))).outcome == "no_submission"


def test_an_agent_that_fails_is_scored_but_one_without_an_answer_is_not(program, agent, play, server):
    assert play(agent(program("sys.exit(3)"))).outcome == "no_submission"
    asks = program("import urllib.error\ntry:\n    ask()\nexcept urllib.error.HTTPError:\n    sys.exit(1)")
    with pytest.raises(ModelRefused, match=r"refuses the agent: 401 \(1 times\)"):
        play(agent(asks, key="wrong"))
    with LoopbackServer(lambda request: Answer("")) as gone:
        upstream = gone.root
    with pytest.raises(ModelUnavailable, match=r"no answer from the model's server: 502 \(1 times\)"):
        play(agent(asks, upstream=upstream))


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_instructions_are_copied_and_the_driver_is_told_to_follow_them(program, agent, play, tmp_path, name):
    instructions = INSTRUCTIONS[name]
    checkout = tmp_path / "checkout"
    entry = checkout / instructions.entry
    entry.parent.mkdir(parents=True)
    entry.write_text("Be bold.")
    (checkout / ".git").mkdir()
    (checkout / "secret").symlink_to("/etc/hostname")
    body = f"""
        say(told=sys.argv[2], there=sorted(os.listdir({name!r})), text=open({f"{name}/{instructions.entry}"!r}).read(),
            skills=sorted(os.listdir(".claude/skills")) if os.path.exists(".claude/skills") else [])
        write("# passed")
    """
    chosen = agent(program(body), instructions=instructions, checkout=checkout)
    summary = play(chosen, method=name, record=tmp_path / "run")
    assert (summary.method, summary.outcome) == (name, "passed")
    seen = json.loads(steps_of(tmp_path / "run")[0]["completion"])
    assert seen["text"] == "Be bold."
    assert seen["there"] == [instructions.entry.partition("/")[0]], "neither links nor version control"
    assert name in seen["told"] and "verify kernel.py" in seen["told"] and "{folder}" not in seen["told"]
    assert seen["skills"] == (["operator-optimize-loop"] if instructions.skills else [])


def test_instructions_that_are_missing_are_asked_for(program, agent, tmp_path):
    path = program("")
    for name, instructions in INSTRUCTIONS.items():
        with pytest.raises(MissingProgram, match="git clone https://github.com/.*--instructions"):
            AgentPolicy(name, agent(path, instructions=instructions))
        with pytest.raises(MissingProgram, match="is no checkout of"):
            AgentPolicy(name, agent(path, instructions=instructions, checkout=tmp_path))


def test_a_program_that_is_missing_is_named_with_how_to_install_it(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for program in PROGRAMS.values():
        with pytest.raises(MissingProgram, match=f"{program.command}' is not on the PATH: install it .npm install"):
            find_program(program.command, program.install)
    with pytest.raises(MissingProgram, match="there is no program /no/such"):
        find_program("claude", "npm", "/no/such")


def test_a_program_that_cannot_be_started(agent, play, tmp_path):
    path = tmp_path / "claude"
    path.write_bytes(b"\x00no program")
    path.chmod(0o755)
    with pytest.raises(MissingProgram, match="the agent was not started: .*Exec format error"):
        play(agent(path))


def test_what_would_let_an_agent_read_gold_kernels_is_refused(program, agent, root, monkeypatch):
    path = program("")
    with pytest.raises(MissingProgram, match="could read gold kernels"):
        AgentPolicy("claude-code", agent(path, reach={"readable": (root,)}))
    with monkeypatch.context() as patch:
        patch.setattr(launch, "_system", lambda: [str(root.parent)])
        with pytest.raises(MissingProgram, match="a virtual environment of its own"):
            AgentPolicy("claude-code", agent(path))
    monkeypatch.setattr(launch.fence, "abi", lambda: 0)
    with pytest.raises(MissingProgram, match="no Landlock.*--unfenced"):
        AgentPolicy("claude-code", agent(path))
    launch.check_fence(Reach(path, fenced=False))


def test_an_agent_speaks_only_some_protocols(program, agent):
    with pytest.raises(MissingProgram, match="claude-code speaks anthropic to its model: give --provider anthropic"):
        AgentPolicy("claude-code", agent(program(""), provider="openai"))


def test_nothing_is_left_behind(program, agent, play, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    body = "os.mkdir('deep'); write('x', 'deep/f'); os.chmod('deep', 0); write('# passed')"
    assert play(replace(agent(program(body)), wall_s=30.0)).outcome == "passed"
    assert not list(Path(tmp_path).glob("kgb-agent-*"))
