"""The real programs, driven against a server on this machine. Each runs where `make install` put its program
(OpenCode), where it is on the PATH, or where KGB_TEST_OPENCODE or KGB_TEST_CLAUDE names it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from kgb_gym.baselines.agents import fence, find_program
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer

pytestmark = pytest.mark.skipif(not fence.abi(), reason="this kernel has no Landlock: agents are refused on it")

INSTALLED = Path(sys.prefix) / "agents" / "node_modules" / ".bin"
"""Where `scripts/install_agents.py` puts programs."""


def found(variable, name):
    return os.environ.get(variable) or shutil.which(name, path=str(INSTALLED)) or shutil.which(name)


OPENCODE = found("KGB_TEST_OPENCODE", "opencode")
CLAUDE = found("KGB_TEST_CLAUDE", "claude")


def script(tool):
    """Writes a wrong kernel and verifies it, reads that it is wrong, writes a right one, and ends."""
    commands = ["printf '# mismatch\\n' > kernel.py; verify", "printf '# passed\\n' > kernel.py; verify kernel.py"]

    def answer(request):
        if not request.body.get("tools"):
            return Answer("A title")
        turn = sum(m["role"] == "assistant" for m in request.messages)
        if turn == 1:
            assert "should be 2.0, is 1.5" in str(request.body)
        if turn < 2:
            return Answer("", tool_calls=[(tool, {"command": commands[turn], "description": "Write and verify"})])
        return Answer("Done.")

    return answer


def drive(agent, play, kind, program, provider, tool):
    with LoopbackServer(script(tool), models=("stand-in",), key="the-real-key") as server:
        chosen = agent(
            find_program(kind, "", program), kind=kind, provider=provider, upstream=server.root, wall_s=200.0
        )
        summary = play(chosen, method=kind)
        assert {r.key for r in server.requests} == {"the-real-key"}
        assert {r.body["model"] for r in server.requests} == {"stand-in"}
        assert max(r.body["max_tokens"] for r in server.requests) == 16384
    assert summary.statuses == ("mismatch", "passed")
    assert summary.tokens > 2000


@pytest.mark.skipif(OPENCODE is None, reason="OpenCode is not installed: make install has npm do it")
def test_opencode_writes_verifies_and_repairs(agent, play):
    drive(agent, play, "opencode", OPENCODE, "openai", "bash")


@pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed: npm install -g @anthropic-ai/claude-code")
def test_claude_code_writes_verifies_and_repairs(agent, play):
    drive(agent, play, "claude-code", CLAUDE, "anthropic", "Bash")
