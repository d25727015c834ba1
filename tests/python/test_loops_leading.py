"""Loops are led to what comes every so many steps: branches that counters guard, in loops, functions and over epochs."""

import textwrap

import pytest
from looped import counts, job, run  # noqa: F401


@pytest.mark.parametrize(
    "body",
    [
        "for step, x in enumerate(range(5000)):\n    job.step()\n    if (step + 1) % 500 == 0:\n        event()",
        "for step in range(5000):\n    job.step()\n    if step == 700:\n        event()",
        "step = 0\nfor x in range(5000):\n    job.step()\n    step += 1\n    if step % 500 == 0:\n        event()",
        "step = 1\nwhile step < 5000:\n    if step % 500 == 0:\n        event()\n    job.step()\n    step += 1",
        "s = {'n': 1}\nwhile True:\n    job.step()\n    if s['n'] % 99 == 0:\n        event()\n    s['n'] += 1",
        "job.n = 1\nfor x in iter(int, 1):\n    job.step()\n    if job.n > 99:\n        event()\n    job.n += 1",
        "for i in range(900):\n    job.step()\n    if i < 500:\n        continue\n    event()",
        "for i in range(900):\n    job.step()\n    if i < 500:\n        pass\n    else:\n        event()",
    ],
)
@pytest.mark.parametrize("is_function", [False, True])
def test_what_comes_every_so_many_steps_is_seen(run, job, body, is_function):
    if is_function:
        body = "def train():\n" + textwrap.indent(body, "    ") + "\ntrain()"
    loops = run(body, event=lambda: job.call("event"))
    assert counts(job.log)["event"] >= 1 and counts(job.log)["step"] <= 5
    [loop] = loops.values()
    assert loop["skipped"] >= 90 and loop["ended"] == "repeats"


def test_counters_show_what_they_would(run, job):
    run("""
        def train():
            total = 0
            for i, x in enumerate(range(5000)):
                job.step((i, total))
                total += 2
                if total % 1000 == 0:
                    job.log.append("event")
        train()
    """)
    assert job.log == [(0, 0), (1, 2), (2, 4), (499, 998), "event"]


def test_every_event_is_led_to_once(run, job):
    run("""
        for step in range(10_000):
            job.step(step)
            if step and step % 100 == 0:
                job.log.append("save")
            if step and step % 1000 == 0:
                job.log.append("validate")
    """)
    assert job.log == [0, 1, 2, 100, "save", 1000, "save", "validate"]


def test_what_is_counted_from_epoch_to_epoch_goes_on(run, job):
    loops = run("""
        total = 0
        for epoch in range(30):
            steps = 0
            for batch in range(100):
                job.step()
                total += 1
                steps += 1
                if total % 500 == 0:
                    job.log.append("event")
                if steps % 500 == 0:
                    job.log.append("never")
    """)
    assert counts(job.log)["event"] == 1 and "never" not in job.log
    assert loops[4]["skipped"] > 400


def test_what_goes_on_and_what_begins_anew_may_decide_together(run, job):
    run("""
        done = 0
        while True:
            for batch in range(25):
                job.step()
                if batch % 2 == 1:
                    done += 1
                if done >= 80:
                    break
                if done and done % 30 == 0 and batch % 2 == 1:
                    job.log.append("evaluate")
                if batch == 30 and done > 10:
                    job.log.append("never")
            if done >= 80:
                break
    """)
    assert "evaluate" in job.log and "never" not in job.log


def test_nothing_is_led_beyond_the_end_of_the_job(run, job):
    run("""
        total = 0
        for epoch in range(30):
            for batch in range(100):
                job.step()
                total += 1
                if total == 2_900:
                    job.log.append("event")
                if total == 3_100:
                    job.log.append("never")
        total = 0
        for epoch in range(30):
            for batch in range(100):
                job.step()
                total += 1
                if total == 2_900:
                    job.log.append("never")
                if total >= 500:
                    break
    """)
    assert counts(job.log)["event"] == 1 and "never" not in job.log


TRAINER = """
    class Trainer:
        def __init__(self):
            self.step, self.every = 0, 300

        def train_step(self):
            job.step(self.step)
            self.step += 1

        def after_step(self):
            if self.step and self.step % self.every == 0:
                job.log.append("event")

    trainer = Trainer()
"""


def test_branches_in_functions_that_a_loop_calls_are_led_to(run, job):
    run(TRAINER + """
    for batch in range(1000):
        trainer.train_step()
        trainer.after_step()
    """)
    assert job.log == [0, 1, 2, 299, "event"]


def test_branches_in_functions_are_led_to_over_epochs_but_not_beyond_the_end(run, job):
    epochs = """
    for epoch in range({}):
        for batch in range(100):
            trainer.train_step()
            trainer.after_step()
    """
    run(TRAINER + epochs.format(20))
    assert counts(job.log)["event"] == 1 and len(job.log) < 12
    job.log.clear()
    run(TRAINER + epochs.format(2))
    assert "event" not in job.log


def test_an_index_may_count_down(run, job):
    run("for t in reversed(range(1000)):\n    job.call(t)\n    if t % 100 == 0:\n        job.log.append('event')")
    assert job.log == [999, 998, 997, 900, "event"]


def test_the_length_of_epochs_is_not_told_by_what_cut_loops_count(run, job):
    loops = run("""
        step, epoch = 0, 0
        while step < 10_000:
            for batch in range(100):
                job.step()
                step += 1
        while epoch < 50:
            for batch in range(100):
                job.step()
            epoch += 1
    """)
    assert (loops[2]["total"], loops[6]["total"]) == (None, 50)


def test_a_branch_of_an_inner_loop_is_led_to_by_the_outer(run, job):
    run("""
        for epoch in range(100):
            for batch in range(50):
                job.step()
                if epoch >= 60:
                    job.log.append("unfrozen")
    """)
    assert "unfrozen" in job.log and counts(job.log)["step"] < 12


def test_a_branch_behind_the_end_is_not_taken(run, job):
    run("for step in range(400):\n    job.step(step)\n    if step == 500:\n        job.log.append('never')")
    assert job.log == [0, 1, 2]
