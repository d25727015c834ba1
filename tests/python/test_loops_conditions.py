"""Which iteration will take a branch, worked out from what the iterations so far did to its variables."""

import ast
import enum
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.watching.loops.conditions import Counters, Round, condition_from, condition_of  # noqa: E402


def first_time(text, *ends, before=10_000):
    """In how many iterations the condition holds, after iterations that ended with these values."""
    counters = Counters()
    for values in ends:
        counters.observe(values)
    return counters.first_time(condition_from(text), before, lambda: False)


def counting(name, *values, **others):
    return [{name: value, **others} for value in values]


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        ("i % 500 == 0", {}, 498),
        ("(i + 1) % 500 == 0", {}, 497),
        ("not (i + 1) % every", {"every": 10}, 7),
        ("i == 5", {}, 3),
        ("i > warmup", {"warmup": 100}, 99),
        ("i >= n // 2 and flag", {"n": 40, "flag": True}, 18),
        ("i >= n // 2 and flag", {"n": 40, "flag": False}, None),
        ("i in (7, 9)", {}, 5),
        ("i % 500 == 0 and rank == 0", {"rank": 0}, 498),
        ("i % 500 == 0 and rank == 0", {"rank": 1}, None),
        ("min(i, 10) == 10", {}, 8),
        ("flag", {"flag": False}, None),
    ],
)
def test_the_first_time(text, others, expected):
    assert first_time(text, *counting("i", 0, 1, 2, **others)) == expected


def test_it_is_not_looked_for_behind_the_end():
    assert first_time("i % 500 == 0", *counting("i", 0, 1, 2), before=498) is None


def test_counters_that_move_every_few_iterations():
    ends = [{"i": i, "step": (i + 1) // 4} for i in range(9)]
    assert first_time("step % 10 == 0", *ends) == 31
    assert first_time("(i + 1) % 4 == 0 and step == 9", *ends) == 27


@pytest.mark.parametrize("length", [3, 10, 25])
@pytest.mark.parametrize("condition", ["step % 30 == 0 and i % 2 == 1", "i == 0 and step > 40", "step == 11 and i == 2"])
def test_counters_that_begin_anew_beside_others_that_go_on(length, condition):
    ends = [{"i": at % length, "step": at} for at in range(length, length + 3)]
    counters = Counters()
    for values in ends:
        counters.observe(values)
    again = Round(frozenset({"i"}), length, 3)
    found = counters.first_time(condition_from(condition), 1000, lambda: False, again)
    later = range(1, 1000)
    holds = (at for at in later if eval(condition, {"step": length + 2 + at, "i": (length + 2 + at) % length}))
    assert found == next(holds, None)


def test_what_moves_irregularly_cannot_be_told():
    assert first_time("loss == 100", *counting("loss", 1, 5, 6)) is None


def test_what_is_no_number_is_there_and_no_more():
    class Tensor:
        def __bool__(self):
            raise AssertionError("the card was asked")

        __lt__ = __gt__ = __eq__ = __bool__

    others = {"model": Tensor()}
    assert first_time("model is not None and i == 7", *counting("i", 0, 1, 2, **others)) == 5
    assert first_time("model > best and i == 7", *counting("i", 0, 1, 2, best=1.0, **others)) == 5, "it may be so"
    counters = Counters()
    counters.observe({"i": 0, **others})
    assert counters.certain(condition_from("i > 3")) and not counters.certain(condition_from("model > i"))


def test_names_of_settings_are_compared():
    strategy = enum.Enum("Strategy", {"STEPS": "steps"}).STEPS
    assert first_time("strategy == 'steps' and i == 7", *counting("i", 0, 1, 2, strategy=strategy)) == 5


def test_parts_that_cannot_be_worked_out_are_left_out():
    test = ast.parse("is_main() and step % 5 == 0", mode="eval").body
    assert condition_of([(test, False)]).leaves == ("step",)
    assert condition_of([(test, True)]) is None, "its opposite depends on all of it"


def test_a_condition_that_raises_is_no_answer():
    assert condition_from("1 // n == 0").holds({"n": 0}) is None
    assert condition_from("n > 0").holds({}) is None


def test_what_comes_true_by_and_by():
    counters = Counters()
    for size in (3, 17, 21):
        counters.observe({"len(buffer)": size, "n": 64})
    assert counters.comes_true(condition_from("len(buffer) > n"))
    assert not counters.comes_true(condition_from("len(buffer) < 2"))
    assert not counters.comes_true(condition_from("n == 64"))


def test_counters_are_moved_on():
    counters = Counters()
    for i in range(9):
        counters.observe({"i": i, "step": (i + 1) // 4})
    counters.skip(30, ["i", "step"])
    assert counters.values == {"i": 38, "step": 9}
    assert counters.first_time(condition_from("step == 10"), 100, lambda: False) == 1
