"""When a loop may end: decided from numbers alone."""

import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.watching.loops.deciding import Budget, History, Sample, Visit, is_rising  # noqa: E402

MIB = 1 << 20


class Clock:
    """Time that passes only when it is told to."""

    now = 0.0

    def __call__(self):
        return self.now


def visit(total=None, history=None, **options):
    return Visit(history or History(), Budget(Clock()), total=total, **options)


def train(live=100, allocated=50, **fields):
    fields = {"steps": 1, "backwards": 1, "own_steps": 1, "own_backwards": 1, "seconds": 1.0, **fields}
    return Sample(live * MIB, allocated * MIB, 10, **fields)


def evaluate(live=100, allocated=50, **fields):
    return train(live, allocated, **{"steps": 0, "backwards": 0, "own_steps": 0, "own_backwards": 0, **fields})


def run(one, samples, limit=500):
    """How many iterations it takes, and why it ends."""
    for number, sample in enumerate(samples, 1):
        one.add(sample)
        if reason := one.verdict():
            return number, reason
        if number == limit:
            break
    return one.count, None


def test_what_repeats_ends_after_three():
    assert run(visit(1250), [train(90, 60)] + [train()] * 10) == (3, "repeats")


def test_the_first_iteration_may_be_like_no_other():
    first = Sample(100 * MIB, None, None, steps=1, backwards=1, own_steps=1, own_backwards=1)
    assert run(visit(1250), [first] + [train()] * 10) == (3, "repeats")


def test_a_loop_seen_before_ends_after_two():
    history = History()
    run(visit(1250, history), [train()] * 5)
    history.visits += 1
    assert run(visit(1250, history), [train(live=120)] * 5) == (2, "repeats")
    assert run(visit(1250, history), [train(allocated=70)] * 5)[0] == 3, "it is not as it was"


def test_a_short_loop_is_run_to_its_end():
    assert run(visit(8), [train(seconds=0.1)] * 8) == (8, None)
    assert run(visit(8), [train(seconds=60.0)] * 8) == (3, "repeats"), "unless that takes minutes"


def test_layers_of_a_training_step_are_all_run():
    layers = [evaluate(training_calls=1)] * 12
    assert run(visit(total=12), layers) == (12, None)
    assert run(visit(total=12, has_optimizer=False), layers) == (3, "repeats")
    assert run(visit(total=12), [evaluate()] * 12) == (3, "repeats"), "evaluation repeats itself"


def test_batches_of_different_sizes_end_without_a_trend():
    sizes = [5, 9, 2, 7, 4, 8, 3, 6, 1, 5, 9]
    assert run(visit(1250), [train(100 + size, size) for size in sizes]) == (8, "no_trend")


def test_batches_of_alternating_sizes_repeat():
    assert run(visit(1250), [train(100 + n % 2, 50 + n % 2) for n in range(20)]) == (5, "repeats")


def test_growth_is_looked_at_until_it_is_sure():
    leak = visit(10_000)
    assert run(leak, [train(100 + 5 * n) for n in range(100)]) == (12, "growth")
    assert leak.growth_bytes_per_iteration() == 5 * MIB


def test_growth_in_every_other_iteration_is_growth():
    leak = visit(10_000)
    assert run(leak, [train(100 + 6 * (n // 2)) for n in range(100)]) == (12, "growth")
    assert leak.growth_bytes_per_iteration() == pytest.approx(3 * MIB, rel=0.25)


def test_growth_under_batches_of_different_sizes_is_growth():
    noise = [3, 0, 2, 1, 4, 0, 3, 1, 2, 0, 4, 1, 0, 3, 2, 1, 0, 4, 2, 0, 1, 3, 0, 2, 4, 1, 0]
    leak = visit(10_000)
    found = run(leak, [train(100 + 8 * n + size, 50 + size) for n, size in enumerate(noise)])
    assert found == (12, "growth")
    assert leak.growth_bytes_per_iteration() == pytest.approx(8 * MIB, rel=0.5)


def test_what_fills_up_and_then_stays_is_no_growth():
    cache = visit(10_000)
    assert run(cache, [train(100 + min(n, 6)) for n in range(100)]) == (9, "repeats")
    assert cache.growth_bytes_per_iteration() == 0


def test_what_grows_by_design_is_run_to_its_end():
    assert run(visit(50), [evaluate(100 + n, seconds=0.2) for n in range(50)]) == (50, None), "it is short"
    assert run(visit(400), [evaluate(100 + n, seconds=0.001) for n in range(400)]) == (400, None), "it is cheap"
    assert run(visit(400), [evaluate(100 + n, seconds=1.0) for n in range(400)]) == (12, "growth")


def test_accumulated_gradients_wait_for_the_second_step():
    micro = [train(steps=int(n % 16 == 0), own_steps=int(n % 16 == 0)) for n in range(1, 100)]
    assert run(visit(1250), micro) == (32, "repeats")


def test_backward_passes_without_an_optimizer_end_too():
    by_hand = [train(steps=0, own_steps=0)] * 200
    assert run(visit(1250), by_hand) == (72, "repeats"), "there is one that may still step"
    assert run(visit(1250, has_optimizer=False), by_hand) == (3, "repeats")


def test_a_search_for_a_batch_size_is_not_cut():
    failing = [evaluate(100, 50, shortages=1)] * 20
    assert run(visit(), failing + [evaluate()] * 10)[0] > 20
    doubling = [evaluate(100, 2**n) for n in range(15)]
    assert run(visit(), doubling) == (15, None)


def test_epochs_end_when_one_repeats_the_last():
    epoch = {"steps": 3, "own_steps": 0, "own_backwards": 0, "has_inner": True}
    assert run(visit(10), [train(is_new_inside=True, **epoch)] + [train(**epoch)] * 5) == (2, "repeats")
    changing = [train(live=100 + n * (-1) ** n, is_new_inside=True, **epoch) for n in range(10)]
    assert run(visit(10), changing) == (4, "no_trend")
    growing = visit(10)
    assert run(growing, [train(live=100 + 7 * n, **epoch) for n in range(10)]) == (6, "growth")
    assert growing.growth_bytes_per_iteration() == 7 * MIB


def test_collections_of_things_are_gone_through():
    epoch = {"steps": 3, "own_steps": 0, "own_backwards": 0, "has_inner": True}
    assert run(visit(3, is_over_collection=True), [train(**epoch)] * 3) == (3, None)
    assert run(visit(30, is_over_collection=True), [train(**epoch)] * 3) == (2, "repeats")


def test_configurations_that_differ_are_all_run_if_they_are_cheap():
    epoch = {"steps": 3, "own_steps": 0, "own_backwards": 0, "has_inner": True, "is_new_inside": True}
    quick = [train(live=100 + n * (-1) ** n, seconds=0.01, **epoch) for n in range(12)]
    assert run(visit(12), quick) == (12, None)


def test_loops_around_micro_batches_are_training_loops():
    outer = visit(1250)
    assert run(outer, [train(own_backwards=0, has_inner=True)] * 5) == (3, "repeats")
    assert not outer.is_around
    driven = visit(1250)
    assert run(driven, [train(own_steps=0, own_backwards=0, has_inner=True)] * 5) == (3, "repeats")
    assert not driven.is_around, "the inner loop steps, once"


def test_what_only_allocates_is_run_while_it_is_cheap():
    assert run(visit(300, only_allocates=True), [evaluate(seconds=0.001)] * 300) == (300, None)
    assert run(visit(300, only_allocates=True), [evaluate(seconds=1.0)] * 300) == (3, "repeats")
    assert run(visit(only_allocates=True), [evaluate(seconds=0.1)] * 300)[0] == pytest.approx(20, abs=2)


def test_results_put_aside_are_gathered_while_that_is_cheap():
    assert run(visit(128, collects=True), [evaluate(seconds=0.002)] * 128) == (128, None)
    assert run(visit(128, collects=True), [evaluate(seconds=1.0)] * 128) == (3, "repeats")
    assert run(visit(128, collects=True), [train(seconds=0.002)] * 128) == (3, "repeats"), "a training loop logs"


def test_the_budget_grows_with_the_time_spent():
    clock = Clock()
    budget = Budget(clock)
    assert budget.allows(2.0) and not budget.allows(2.1)
    clock.now = 100.0
    assert budget.allows(22.0) and not budget.allows(22.1)


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        ([1, 2], True),
        ([2, 1], False),
        ([1, 1, 1], False),
        ([1, 2, 3, 4], True),
        ([1, 5, 5, 5], False),
        ([1, 3, 2, 4, 6, 5], True),
        ([3, 1, 2, 3, 1, 2], False),
    ],
)
def test_rising(lives, expected):
    assert is_rising(lives) is expected


def _on_the_host(total):
    one = visit(total)
    one.budget.heap_seconds_left = Budget.HEAP_SECONDS
    return one


def test_a_job_without_a_card_is_run_to_its_end_where_there_is_time():
    assert run(_on_the_host(100), [train(seconds=0.1)] * 100) == (100, None)
    assert run(_on_the_host(1250), [train()] * 100) == (3, "repeats")


def test_a_long_loop_is_run_on_while_the_heap_rises():
    settles = [train(seconds=0.1, resident_bytes=min(number, 20) * MIB) for number in range(1, 200)]
    assert run(_on_the_host(10_000), settles) == (40, "repeats")
    wanders = [train(resident_bytes=(100 + number * number % 7 + 8 * number) * MIB) for number in range(1, 200)]
    count, reason = run(_on_the_host(10_000), wanders)
    assert reason == "repeats" and Budget.HEAP_SECONDS <= count <= Budget.HEAP_SECONDS + 3


def test_time_for_the_heap_is_given_once():
    one = _on_the_host(40)
    assert run(one, [train()] * 40) == (40, None)
    again = Visit(History(), one.budget, total=40)
    assert run(again, [train()] * 40) == (3, "repeats")


def test_of_a_stream_some_seconds_are_run():
    count, reason = run(_on_the_host(None), [train()] * 100)
    assert reason == "repeats" and count == pytest.approx(Budget.HEAP_SHARE_UNKNOWN * Budget.HEAP_SECONDS, abs=3)
    assert run(visit(None), [train()] * 100) == (3, "repeats")


def test_growth_that_comes_to_an_end_in_time_is_run_to_it():
    def grows():
        return [train(100 + number, resident_bytes=number * MIB, host_bytes=number * MIB) for number in range(1, 200)]

    assert run(_on_the_host(50), grows()[:50]) == (50, None)
    assert run(_on_the_host(10_000), grows()) == (12, "growth")
    assert run(_on_the_host(None), grows()) == (12, "growth")
