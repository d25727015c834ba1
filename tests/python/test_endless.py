"""Which loops are taken to wait for what a hollow card never gives."""

import sys
import threading

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.hollow import endless  # noqa: E402


@pytest.fixture
def watch():
    """A watch that sees no progress."""
    turns = []
    made = endless.Watch(lambda: "nothing new", lambda: None, lambda _frame, _line: turns[-1] if turns else None)
    made.turns = turns
    return made


def reads(watch, line="step.py:1"):
    """A line has read as often as it takes for a look."""
    watch.on_read(sys._getframe(1), line, endless.READS_BETWEEN_LOOKS)


def is_waiting(watch):
    return watch._place is not None


def test_a_loop_that_goes_on_and_on_waits(watch):
    looks = 0
    while looks < 2:
        reads(watch)
        looks += 1
    assert is_waiting(watch)


def test_one_that_is_begun_anew_or_counts_does_not(watch):
    looks = 0
    while looks < 20:
        watch.turns.append(looks)
        reads(watch)
        looks += 1
    assert not is_waiting(watch)


def test_several_lines_may_be_looked_at_in_one_turn(watch):
    turn = 0
    while turn < 20:
        watch.turns.append(turn)
        for line in ("act.py:89", "act.py:91", "act.py:97"):
            reads(watch, line)
        turn += 1
    assert not is_waiting(watch)


def test_nor_does_one_that_has_ended(watch):
    def go_on():
        for _ in range(20):
            reads(watch)

    # In a thread of its own: what runs these tests may itself be within a `while`.
    thread = threading.Thread(target=go_on)
    thread.start()
    thread.join()
    assert not is_waiting(watch)
