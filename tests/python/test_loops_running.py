"""Loops of running scripts are ended, skipped and reported; counters and numbers stand for the job and the card."""

import os
import pathlib
import sys
import threading
import time
import weakref

import pytest
from looped import counts, job, run  # noqa: F401

from oomph.watching.loops import running


def test_a_whole_script_is_walked(run, job):
    loops = run("""
        for epoch in range(10):
            for batch in range(1250):
                job.step()
            for batch in range(40):
                job.call("validate")
            job.log.append("save")
        job.call("test")
    """)
    assert job.log == ["step"] * 3 + ["validate"] * 3 + ["save"] + ["step"] * 2 + ["validate"] * 2 + ["save", "test"]
    shown = ("kind", "longest_visit", "seen", "total", "visits", "ended")
    assert [tuple(loops[line][name] for name in shown) for line in (1, 2, 4)] == [
        ("epochs", 2, 2, 10, 1, "repeats"),
        ("training", 3, 5, 1250, 2, "repeats"),
        ("evaluation", 3, 5, 40, 2, "repeats"),
    ]
    assert job.reports[-1] == loops[1]
    assert {pathlib.Path(loop["file"]).name for loop in loops.values()} == {"train.py"}


def test_nothing_is_ended_where_steps_are_asked_for(run, job):
    text = "for i in range(100):\n    job.step()\n    if i == 50:\n        job.log.append('late')"
    loops = run(text, is_walking=False)
    assert counts(job.log) == {"step": 100, "late": 1}
    assert (loops[1]["seen"], loops[1]["total"], loops[1]["ended"]) == (100, 100, "own_end")


def test_the_kind_of_loop(run, job):
    loops = run("""
        def cycle(loader):
            while True:
                for item in loader:
                    yield item

        source = cycle(range(5))
        for step in range(10_000):
            next(source)
            for micro in range(4):
                job.backward()
            job.step("optimize")
    """)
    assert counts(job.log) == {"backward": 12, "optimize": 3}
    assert [(line, loop["kind"]) for line, loop in loops.items()] == [(7, "training"), (9, "training")]


def test_layers_and_time_steps_are_not_evaluated(run, job, monkeypatch):
    torch = type("torch", (), {"is_grad_enabled": staticmethod(lambda: job.grad)})
    monkeypatch.setitem(sys.modules, "torch", torch)
    job.grad = True
    loops = run("""
        for batch in range(100):
            for layer in range(5):
                job.call()
            job.step()
            if batch == 50:
                job.grad = False
                for other in range(5):
                    job.call()
                job.grad = True
                for last in range(5):
                    job.call()
    """)
    kinds = {1: "training", 2: "other", 7: "evaluation", 10: "evaluation"}
    assert {line: loop["kind"] for line, loop in loops.items()} == kinds


def test_an_evaluation_with_an_inner_loop_is_one(run, job):
    loops = run("""
        for batch in range(3000):
            job.call()
            for crop in range(5):
                job.call("crop")
        for fold in range(3000):
            for crop in range(5):
                job.call("fold")
    """)
    assert counts(job.log) == {"call": 3, "crop": 15, "fold": 10}
    assert loops[1]["kind"] == "evaluation"


def test_the_replay_buffer_fills(run, job):
    run("""
        buffer = []
        for episode in range(1000):
            for move in range(3 + episode % 2):
                job.call(seconds=0.001)
                buffer.append(move)
                if len(buffer) > 30:
                    job.step("optimize", seconds=0.001)
    """)
    assert "optimize" in job.log and counts(job.log)["call"] < 60


def test_loops_that_leave_by_themselves_do(run, job):
    run("""
        def train():
            step = 0
            while True:
                job.step(step)
                step += 1
                if step >= 600_0:
                    job.log.append("saved")
                    return "model"
        model = train()
    """)
    assert job.log == [0, 1, 2, 5999, "saved"]
    assert job.scope["model"] == "model"


def test_the_length_of_a_loop_that_counts_by_itself(run, job):
    loops = run("""
        step = 0
        while step < 6:
            job.step()
            step += 1
        step = 0
        while True:
            job.step()
            step += 1
            if step >= 777:
                break
    """)
    assert (loops[2]["seen"], loops[2]["total"], loops[2]["ended"]) == (6, 6, "own_end"), "short ones are run"
    assert (loops[6]["seen"], loops[6]["total"]) == (3, 777)
    assert run("for i in range(5000):\n    job.step()\n    if i == 99:\n        break")[1]["total"] == 100
    assert run("i = 0\nwhile i < 10 ** 9:\n    job.step()\n    i += 1")[2]["total"] == 10**9


def test_accumulated_gradients_are_stepped(run, job):
    loops = run("""
        for i in range(10_000):
            job.backward()
            if (i + 1) % 32 == 0:
                job.step("optimize")
    """)
    assert counts(job.log)["optimize"] >= 2
    assert loops[1]["seen"] <= 64


def test_growth_is_told(run, job):
    loops = run("for i in range(10_000):\n    job.step(kept=3 << 20)")
    assert (loops[1]["seen"], loops[1]["ended"], loops[1]["growth_bytes_per_iteration"]) == (12, "growth", 3 << 20)
    assert loops[1]["live_bytes"][-1] == 36 << 20


def test_what_grows_by_design_keeps_its_length(run, job):
    loops = run("""
        for batch in range(1000):
            for t in range(50):
                job.call(kept=1 << 20, seconds=0.001)
            job.live = 0
            job.step("step")
    """)
    assert counts(job.log) == {"call": 150, "step": 3}
    assert loops[2]["ended"] == "own_end"


def test_batch_finders_find(run, job):
    run("""
        size = 1 << 20
        while True:
            try:
                job.call("try", size=size)
                if size > 100:
                    job.refuse()
                break
            except MemoryError:
                size //= 2
    """)
    assert counts(job.log) == {"try": 15}


def test_the_end_of_a_loop_is_told_apart(run, job):
    loops = run("""
        def stop(after):
            for i in range(1000):
                job.step()
                if job.activity.steps == after:
                    break
        stop(2)
        def fail():
            for i in range(1000):
                job.step()
                if i == 1:
                    raise ValueError
        try:
            fail()
        except ValueError:
            pass
        def give():
            for i in range(1000):
                job.step()
                if i == 1:
                    return i
        give()
    """)
    assert [(loop["ended"], loop["seen"]) for loop in loops.values()] == [("break", 2), ("raised", 2), ("break", 2)]


def test_loops_that_do_nothing_on_the_card_are_not_touched(run, job):
    assert run("seen = 0\nfor i in range(5000):\n    seen += 1\nn = 0\nwhile n < 5000:\n    n += 1") == {}
    assert (job.scope["seen"], job.scope["n"]) == (5000, 5000)


def test_data_that_modules_prepare_is_all_prepared(run, job):
    def transform():
        job.activity.calls += 1

    assert run("data = []\nfor i in range(5000):\n    data.append(transform())", transform=transform) == {}
    assert len(job.scope["data"]) == 5000


def test_loops_over_parameters_are_run_to_their_end(run, job):
    loops = run("for p in range(500):\n    job.allocate(seconds=0.0001)")
    assert (loops[1]["seen"], loops[1]["kind"], loops[1]["ended"]) == (500, "other", "own_end")


def test_loops_inside_a_module_or_another_thread_are_not_watched(run, job):
    text = "def work():\n    for i in range(50):\n        job.step()\n"
    job.activity.depth = 1
    assert run(text + "work()") == {}
    job.activity.depth = 0
    assert run(text + "t = Thread(target=work)\nt.start()\nt.join()", Thread=threading.Thread) == {}
    assert counts(job.log) == {"step": 100}


WRAPPERS = ["{}", "enumerate({})", "zip({}, {})", "map(str, {})", "Bar({})", "enumerate(Bar({}))"]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_the_length_is_known_through_wrappers(run, job, wrap):
    class Bar:
        def __init__(self, iterable):
            self.iterable = iterable

        def __len__(self):
            return len(self.iterable)

        def __iter__(self):
            yield from self.iterable

    text = wrap.format("list(range(300))", "list(range(400))")
    assert run(f"for x in {text}:\n    job.step()", Bar=Bar)[1]["total"] == 300


def test_batches_are_not_kept(run, job):
    class Batch:
        seconds = 0.05

    references = []

    def loaded():
        batch = Batch()
        references.append(weakref.ref(batch))
        return batch

    run(
        """
        def train():
            step = 0
            for batch in map(load, range(20)):
                job.step(seconds=batch.seconds)
                del batch
                assert references[-1]() is None
                step += 1
                if step == 15:
                    job.log.append("event")
                    assert references[-1]() is None
        train()
        """,
        load=lambda _index: loaded(),
        references=references,
    )
    assert job.log == ["step"] * 4 + ["event"], "the variables were looked at and changed"


def test_a_source_is_let_go_when_its_loop_is_ended(run, job):
    closed = []

    def stream():
        try:
            while True:
                yield 1
        finally:
            closed.append(len(job.log))

    run("for x in stream():\n    job.step()\njob.log.append('after')", stream=stream)
    assert closed == [3] and job.log[-1] == "after"


def test_marks_name_the_iterations(run, job):
    run("for i in range(100):\n    job.step()")
    assert job.marks == [("iteration train.py:1 2", "START"), ("iteration train.py:1 3", "START")]


def test_comprehensions_are_watched(run, job):
    loops = run("found = [job.call() for x in range(1000)]")
    assert len(job.scope["found"]) < 100 and loops[1]["total"] == 1000


def test_children_are_left_alone(run, job):
    run("x = 1")
    job.walk.is_on = False
    assert running.loop(job, 0) is job and running.enter(0) is None


def test_local_variables_that_a_script_asked_for_stay(run, job):
    run("""
        def train(a=1):
            settings = locals()
            for step in range(5000):
                job.step()
                if step == 700:
                    job.log.append("event")
            return settings
        kept = train()
    """)
    assert job.scope["kept"]["a"] == 1 and "event" in job.log


def test_an_iteration_that_does_nothing_costs_next_to_nothing(run):
    if os.cpu_count() is None:
        pytest.skip("no clock to trust")
    text = "def work():\n    for i in range(1_000_000):\n        pass\n"
    plain = {}
    exec(text, plain)
    start = time.process_time()
    plain["work"]()
    middle = time.process_time()
    run(text + "work()")
    took_ns = (time.process_time() - middle - (middle - start)) * 1e9 / 1_000_000
    # About 80 ns; a busy machine may need a multiple, and measuring each iteration would take thousands.
    assert took_ns < 500
