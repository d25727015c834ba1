"""Which reads decide about anything, told from the code around them; and objects that the collector does not notice."""

import gc
import sys

import numpy
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.values.collector import Unnoticed  # noqa: E402
from oomph.values.steering import Fate, Steering  # noqa: E402

ANSWERS = []
FATES = []


def read(value=1.5, *, may_divide=False):
    """Stands for a read: notes whether its caller decides anything by it."""
    ANSWERS.append(Steering().steers(sys._getframe(1), may_divide=may_divide))
    FATES.append(Steering().fate(sys._getframe(1)))
    return value


def test_what_no_python_code_reads_decides():
    assert Steering().steers(None)


def shows():
    total = 0.0
    history = []
    total += read()
    history.append(read())
    print(f"{read():.2f}", total / 3)
    kept = {"loss": read()}
    name = read()
    if name is not None and isinstance(name, float):
        total = name * 2
    return [total, kept]


def branches():
    if read() > 1:
        return 1
    return 0


def waits():
    loss = read()
    best = loss * 0.5 + 1
    while best > 100:
        best = 0


def indexes():
    at = int(read())
    return [1, 2, 3][at]


def slices():
    return [1, 2, 3][: int(read())]


def counts():
    return [0 for _ in range(int(read()))]


def picks_inside():
    return [x for x in (1, 2) if read() > x]


def matches():
    rows = sorted([read()])
    return [[1, 2, 3][int(row)] for row in rows]


def gives():
    return read()


def decides_by_what_is_given():
    given = gives()
    assert given < 2


def only_shows_what_is_given():
    print(gives())


def indexes_by_what_is_collected():
    masks, table = [], {}
    masks.append(int(read()))
    table["last"] = int(read())
    return [1, 2, 3][masks[0]], [1, 2, 3][table["last"]]


class Tokens(list):
    """What has the methods of a tensor."""

    def split(self, _sizes):
        return [self]


def makes_so_many():
    sizes = [int(read()), 2]
    return Tokens().split(sizes), numpy.zeros(int(read())), numpy.full((int(read()), 2), 0.5), numpy.pad([1], int(read()))


class Camera:
    """Keeps what it is given."""

    def __init__(self):
        self.angle = gives()
        self.angles = []
        self.angles.append(read())
        self.turn(read())

    def turn(self, angle):
        """Further."""


def compares_what_is_collected():
    losses = []
    losses.append(read())
    if losses and min(losses) < 1:
        print("better")


@pytest.mark.parametrize(
    "function",
    [indexes_by_what_is_collected, makes_so_many, branches, waits, indexes, slices, counts, picks_inside, matches, decides_by_what_is_given],
    ids=lambda function: function.__name__,
)
def test_what_decides(function):
    ANSWERS.clear()
    function()
    assert ANSWERS and all(ANSWERS)


@pytest.mark.parametrize("function", [shows, only_shows_what_is_given], ids=lambda function: function.__name__)
def test_what_is_shown(function):
    ANSWERS.clear()
    function()
    assert ANSWERS and not any(ANSWERS)


@pytest.mark.parametrize("function", [Camera, compares_what_is_collected], ids=lambda function: function.__name__)
def test_what_is_lost_sight_of(function):
    FATES.clear()
    function()
    assert FATES and all(fate is Fate.LOST for fate in FATES)


def test_what_is_made_of_or_filled_with_a_value_has_no_size_from_it():
    FATES.clear()
    print(numpy.full((2, 2), read()), numpy.split(numpy.array([read(), 1]), 2), numpy.pad([read()], 1))
    assert FATES == [Fate.SHOWN] * 3


class Weights:
    """Stands for a tensor, whose operators read what they are given in place of a number."""

    def add_(self, update, alpha):
        FATES.append(Steering().fate(sys._getframe(1)))

    def to(self, device, copy):
        FATES.append(Steering().fate(sys._getframe(1)))


def test_what_an_operator_reads_is_in_what_it_makes():
    FATES.clear()
    rate, device, weights = 0.1, "cpu", Weights()
    weights.add_(1, alpha=rate)
    assert FATES == [Fate.LOST]
    weights.to(device, copy=True)
    weights.add_(1, 2)
    assert FATES[1:] == [Fate.SHOWN] * 2


def test_what_is_put_into_a_text_is_shown():
    FATES.clear()
    print("%.2f %.2f" % (read(), read(may_divide=True)), "%.2f" % read(may_divide=True))
    assert FATES == [Fate.SHOWN] * 3 and not any(ANSWERS[-3:])


def test_a_divisor_matters_only_where_it_is_asked_for():
    ANSWERS.clear()
    print(1 / read(), 1 / read(may_divide=True))
    assert ANSWERS == [False, True]


def test_objects_that_stay_do_not_bring_the_collector_sooner():
    unnoticed, kept, runs = Unnoticed(), [], []
    thresholds = gc.get_threshold()
    heard = lambda phase, info: runs.append(phase)  # noqa: E731
    try:
        gc.set_threshold(500, 10, 10)
        unnoticed.install()
        gc.collect(0)
        gc.callbacks.append(heard)
        for _ in range(5000):
            with unnoticed:
                kept.append(Unnoticed())
        assert runs == []
        kept.extend(Unnoticed() for _ in range(1000))
        assert runs
    finally:
        gc.callbacks.remove(heard)
        gc.callbacks.remove(unnoticed._on_collection)
        gc.set_threshold(*thresholds)
