"""What a selection is taken to pick once its values can no longer be worked out."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.hollow.earlier_sizes import EarlierSizes  # noqa: E402


def route(sizes, elements, counts):
    """One step of experts that share a line."""
    found = [sizes.picked("nonzero", elements, count) for count in counts]
    sizes.stepped()
    return found


def test_experts_of_one_line_get_what_each_had_in_the_step_before():
    sizes = EarlierSizes()

    def step(elements, counts):
        return route(sizes, elements, counts)

    assert step(100, [70, 10, 20]) == [70, 10, 20]
    assert step(100, [60, None, None]) == [60, 10, 20]
    # What was taken over is handed on, in the same share of more elements.
    assert step(200, [None, None, None]) == [120, 20, 40]


def test_what_was_never_worked_out_is_not_made_up():
    sizes = EarlierSizes()
    assert route(sizes, 100, [None, 40]) == [None, 40]
    # The first call of a step knows nothing of the second, and a third there was not.
    assert route(sizes, 100, [None, None, None]) == [None, 40, None]


def test_another_line_or_operator_has_sizes_of_its_own():
    sizes = EarlierSizes()
    assert route(sizes, 100, [40]) == [40]
    assert [sizes.picked("nonzero", 100, None)] == [None]
    assert [sizes.picked("_unique2", 100, None)] == [None]
