"""What a person sees of a run."""

import io

import pytest
from rich.console import Console

from kgb_gym.runs import Episode, LiveProgress, Outcome, PlainProgress
from kgb_gym.runs.progress import Tally, clock

COS, MM = Episode("aten/cos", 0, 1), Episode("aten/mm", 1, 2)
CLEAN = Outcome("aten/cos", 0, "passed", True, True, ("mismatch", "passed"), 2, seconds=4.2)
FAILED = Outcome("aten/mm", 1, "mismatch", False, True, ("mismatch",), 1, seconds=1.0)
BROKEN = Outcome("aten/mm", 1, "harness_error", False, False, ("harness_error",), 1, seconds=1.0)


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (65, "1:05"), (3723, "1:02:03")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_counts_pass_rate_and_time_left():
    tally = Tally(total=10)
    tally.add(CLEAN, here=False)
    assert tally.left_s is None
    tally.add(FAILED)
    tally.add(BROKEN)
    assert (tally.done, tally.clean, tally.scored, tally.here) == (3, 1, 2, 2)
    assert tally.rate == "50%"
    tally.started -= 20
    assert tally.left_s == pytest.approx(20 / 2 * 7, rel=0.01)
    assert tally.line().startswith(
        "3/10 episodes · 1 clean (50%) · 1 harness_error · 1 mismatch · 0:20 gone, 1:10 left"
    )


def test_plain_lines():
    file = io.StringIO()
    progress = PlainProgress(file)
    progress.start(3, (CLEAN,), 2)
    progress.begin(MM)
    progress.step(MM, 1, "mismatch")
    progress.end(MM, FAILED)
    progress.stopping()
    progress.close()
    lines = file.getvalue().splitlines()
    assert lines[0] == "1 of 3 episodes were finished before"
    assert lines[1].startswith("[2/3] aten/mm #2: mismatch after 1 turn, 1.0 s (1 clean so far, ")
    assert "stopping" in lines[2]
    assert lines[3].startswith("2/3 episodes · 1 clean (50%)")


def test_the_live_display_names_what_is_in_work():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, color_system=None)
    progress = LiveProgress(console)
    progress.start(2, (), 2)
    progress.begin(COS)
    progress.step(COS, 1, "mismatch")
    console.print(progress._render())
    shown = file.getvalue()
    assert "aten/cos" in shown and "turn 2" in shown and "last: mismatch" in shown and "0/2 episodes" in shown
    progress.end(COS, CLEAN)
    progress.stopping()
    progress.close()
    assert "mismatch → passed, 4.2 s" in file.getvalue()
    assert "1/2 episodes · 1 clean (100%)" in file.getvalue()
