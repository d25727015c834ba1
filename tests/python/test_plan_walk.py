"""`oomph plan` sees the whole job: of every loop as much as it takes, then what comes after it."""

import pathlib
import shutil
import time

import pytest

JOBS = pathlib.Path(__file__).parent / "jobs"
GIB = 1 << 30

#: A small model with data; what follows it differs.
MODEL = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
    opt = torch.optim.AdamW(net.parameters())
    data = TensorDataset(torch.randn(5000, 256), torch.randint(0, 10, (5000,)))
    training, validation = DataLoader(data, batch_size=4), DataLoader(data, batch_size=125)
    def train(x, y):
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    def validate():
        with torch.no_grad():
            for x, y in validation:
                net(x.cuda())
"""


def loops(plan):
    """What was seen of each loop, by line."""
    return {loop["line"]: loop for loop in plan["seen"]["loops"]}


def line_of(text, part):
    """The line of a script that holds a text."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_training_validation_epochs_and_the_test_at_the_end(planned, script):
    text = MODEL + """
    for epoch in range(10):
        for x, y in training:
            train(x, y)
        validate()
    huge = torch.zeros(4 << 30, dtype=torch.uint8, device="cuda")
    """
    plan = planned("--gpu", "h200", script(text))
    assert plan["peak_allocated_bytes"] > 4 * GIB, "what comes last is seen"
    seen = [loops(plan)[line_of(text, part)] for part in ("range(10)", "in training", "in validation")]
    assert [(loop["kind"], loop["seen"], loop["total"], loop["ended"]) for loop in seen] == [
        ("epochs", 2, 10, "repeats"),
        ("training", 5, 1250, "repeats"),
        ("evaluation", 5, 40, "repeats"),
    ]


def test_what_comes_every_500_steps_is_part_of_the_peak(planned, script):
    plan = planned("--gpu", "h200", script(MODEL + """
    step = 0
    for epoch in range(100):
        for i, (x, y) in enumerate(training):
            train(x, y)
            step += 1
            if step % 500 == 0:
                torch.zeros(2 << 30, dtype=torch.uint8, device="cuda")
            if step > 100_000:
                torch.zeros(64 << 30, dtype=torch.uint8, device="cuda")
    """))
    assert 2 * GIB < plan["peak_allocated_bytes"] < 67 * GIB
    assert plan["peak_allocated_bytes"] > 64 * GIB, "125,000 steps are more than that"


def test_validation_that_does_not_fit_is_found(planned, script):
    plan = planned("--gpu", "rtx_4090", script(MODEL + """
    for step, (x, y) in enumerate(training):
        train(x, y)
        if step == 700:
            net(torch.randn(1 << 24, 256, device="cuda"))
    """), code=1)
    assert (plan["fits"], plan["outcome"]) == (False, "oom")


def test_streams_and_endless_loops_end(planned, script):
    plan = planned(script(MODEL + """
    def endless():
        while True:
            for batch in training:
                yield batch
    source = endless()
    while True:
        train(*next(source))
    """))
    assert plan["outcome"] == "ok" and 3 <= plan["steps"] <= 4


def test_growth_is_measured(planned, script):
    text = MODEL + """
    kept = []
    # So many that no machine would run all of them because that takes little.
    many = torch.utils.data.RandomSampler(data, replacement=True, num_samples=100_000)
    training = DataLoader(data, sampler=many)
    for x, y in training:
        out = net(torch.randn(4096, 256, device="cuda"))
        out.sum().backward()
        opt.step()
        kept.append(out)
    """
    found = planned("--gpu", "h200", script(text))
    loop = loops(found)[line_of(text, "in training")]
    assert (loop["ended"], loop["seen"]) == ("growth", 12)
    assert loop["growth_bytes_per_iteration"] == 4096 * 10 * 4


def test_what_is_unrolled_keeps_its_length(planned, script):
    def peak(steps):
        return planned(script(f"""
            import torch
            cell = torch.nn.GRUCell(64, 256).cuda()
            opt = torch.optim.Adam(cell.parameters())
            for batch in range(500):
                h = torch.zeros(512, 256, device="cuda")
                for t in range({steps}):
                    h = cell(torch.randn(512, 64, device="cuda"), h)
                h.sum().backward()
                opt.step()
        """))["peak_allocated_bytes"]

    assert peak(90) > 2 * peak(30), "a graph of 90 steps is three times as large as one of 30"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The scripts in a folder of their own, which is the working directory."""
    shutil.copytree(JOBS, tmp_path / "jobs")
    monkeypatch.chdir(tmp_path / "jobs")
    return tmp_path / "jobs"


def test_the_trainer_evaluates_and_saves(planned, folder):
    plan = planned("walk_trainer.py")
    seen = {(loop["kind"], loop["total"]): loop for loop in plan["seen"]["loops"]}
    assert seen["training", 5000]["skipped"] > 600, "to the steps at which it evaluates and saves"
    assert seen["training", 5000]["seen"] < 15
    assert seen["evaluation", 100]["visits"] == 2, "once while training, once at the end"
    assert seen["epochs", 3]["seen"] == 2


@pytest.mark.parametrize("data", ["sized", "stream"])
def test_lightning_validates_and_tests(planned, folder, data):
    plan = planned("walk_lightning.py", data)
    assert plan["outcome"] == "ok", "its own assertions hold"
    assert plan["steps"] < 20
    assert any(loop["kind"] == "epochs" and loop["total"] == 50 for loop in plan["seen"]["loops"])


def test_the_whole_costs_at_most_twice_its_first_steps(planned, script):
    path = script(MODEL + """
    for epoch in range(2):
        for x, y in training:
            train(x, y)
        validate()
        torch.save(net.state_dict(), "checkpoint.pt")
    """)

    def seconds(*options):
        start = time.monotonic()
        planned(*options, path)
        return time.monotonic() - start

    seconds()
    assert min(seconds() for _ in range(2)) < 2 * min(seconds("--steps", "3") for _ in range(2))
