"""What a question is answered with once the values can no longer be worked out, and when that is."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.hollow.earlier_answers import EarlierAnswers, after  # noqa: E402
from oomph.values.budget import Budget  # noqa: E402


def test_the_answer_is_that_of_the_last_time_after_the_same_answers():
    told = bytearray([1, 1, 1, 0, 1, 1, 1, 0, 1])
    for _ in range(7):
        told.append(after(told))
    assert list(told[9:]) == [1, 1, 0, 1, 1, 1, 0]
    assert [after(bytearray(alone)) for alone in ([0], [1], [1, 1])] == [0, 1, 1]


def test_each_question_has_its_own_answers():
    answers = EarlierAnswers()
    here, there = (lambda: sys._getframe(), lambda: sys._getframe())
    assert answers.expected(here()) is None
    answers.note(here(), True)
    answers.note(there(), False)
    assert answers.expected(here()) is True and answers.expected(there()) is False


def test_a_loop_that_was_never_seen_to_end_does_not_go_on_for_ever():
    answers, turns = EarlierAnswers(), []

    def asks():
        frame = sys._getframe(1)
        turns.append(answers.expected(frame) if len(turns) > 3 else answers.note(frame, True) or True)
        return turns[-1]

    while asks():
        assert len(turns) < 100
    assert turns == [True] * 4 + [None]


def test_time_is_spent_by_working_out_or_by_writing_down():
    for spend in ("used_seconds", "recording_seconds"):
        budget = Budget(2, 1 << 30)
        setattr(budget, spend, 1.9)
        assert not budget.is_spent()
        setattr(budget, spend, 2.0)
        assert budget.is_spent()
