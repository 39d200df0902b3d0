"""The real OpenCode, driven against a server on this machine. Runs where the program is on the PATH, or where
KGB_TEST_OPENCODE names it."""

import os
import shutil

import pytest

from kgb_gym.baselines.agents import find_program
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer

PROGRAM = os.environ.get("KGB_TEST_OPENCODE") or shutil.which("opencode")


def script(request):
    """Writes a wrong kernel and verifies it, reads that it is wrong, writes a right one, and ends."""
    if not request.body.get("tools"):
        return Answer("A title")
    turn = sum(m["role"] == "assistant" for m in request.messages)
    commands = ["printf '# mismatch\\n' > kernel.py; verify", "printf '# passed\\n' > kernel.py; verify kernel.py"]
    if turn == 1:
        assert "should be 2.0, is 1.5" in request.text
    if turn < 2:
        return Answer("", tool_calls=[("bash", {"command": commands[turn], "description": "Write and verify"})])
    return Answer("Done.")


@pytest.mark.skipif(PROGRAM is None, reason="OpenCode is not installed: npm install -g opencode-ai")
def test_opencode_writes_verifies_and_repairs(agent, play):
    with LoopbackServer(script, models=("stand-in",), key="the-real-key") as server:
        program = find_program("opencode", "", PROGRAM)
        chosen = agent(program, kind="opencode", provider="openai", upstream=server.root, wall_s=150.0)
        summary = play(chosen, method="opencode")
        assert {r.key for r in server.requests} == {"the-real-key"}
    assert summary.statuses == ("mismatch", "passed")
    assert summary.tokens > 2000
