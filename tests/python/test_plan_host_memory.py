"""What a plan says of the host's memory: jobs without a card, workers, pinned memory, growth, machines."""

import json
import os
import subprocess
import sys

import pytest

MIB = 1 << 20

TRAINING = """
    import argparse
    import torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    data = torch.ones(64, 1 << 20)
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.Linear(4096, 1024)).to(device)
    optimizer = torch.optim.Adam(net.parameters())
    kept = []
    for step in range(40):
        loss = net(data[0].view(1024, 1024)[:8].to(device)).sum()
        # Gradients that come and go between what is kept leave holes in the heap, other ones in every run.
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        kept.append(torch.ones(1 << 18))
"""


@pytest.fixture
def host(oomph):
    """Plans a script, and returns the exit code and all that is said."""

    def plan(*words):
        code, out, err = oomph("plan", "--json", *words)
        assert code in (0, 1), err
        return code, json.loads(out)

    return plan


#: Starts a script and prints what it had resident at most, in KiB.
MEASURE = "import os, sys; print(os.wait4(os.posix_spawn(sys.executable, [sys.executable, sys.argv[1]], os.environ), 0)[2].ru_maxrss)"


def _resident_peak_bytes(path):
    """What a plain run of a script has resident at most.

    The kernel counts what a process had before it became the script, which is what its parent had: a small one starts it.
    """
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, path], capture_output=True, text=True, check=True)
    return int(ran.stdout.split()[-1]) * 1024


def test_a_job_without_a_card_is_planned_for_the_host(oomph, host, script, tmp_path):
    path = script(TRAINING)
    words = ("--host-memory", "1GiB", "--html", tmp_path / "page.html", path)
    code, plan = min((host(*words) for _ in range(3)), key=lambda found: found[1]["host"]["peak_bytes"])
    assert (code, plan["uses_card"], plan["fits"], plan["host"]["fits"]) == (1, False, False, False)
    # A busy machine leaves more holes in the heap, up to a tenth of the whole, in a plan as in a plain run.
    resident = min(_resident_peak_bytes(path) for _ in range(3))
    assert plan["host"]["peak_bytes"] == pytest.approx(resident, rel=0.05)
    categories = plan["host"]["categories"]
    weights = 4 * (2 * 1024 * 4096 + 4096 + 1024)
    assert categories["parameters"] == categories["gradients"] == pytest.approx(weights, rel=0.001)
    assert categories["optimizer"] == pytest.approx(2 * weights, rel=0.001)
    assert sum(categories.values()) == plan["host"]["peak_bytes"]
    page = (tmp_path / "page.html").read_text()
    assert "uses no card, and takes" in page and "does not fit a machine of" in page and "<script" not in page
    code, out, err = oomph("plan", "--fit", path)
    assert (code, out) == (2, "") and "--fit is about a card, and the script uses none" in err


def test_libraries_that_are_read_when_the_process_ends_are_the_jobs(host, script):
    path = script("""
        import torch
        net = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(5):
            net(torch.zeros(8, 64)).sum().backward()
            optimizer.step()
    """)
    _, plan = host(path)
    # CUDA's libraries go through their kernels behind the last line of Python.
    assert plan["host"]["categories"]["exit"] > 50 * MIB
    assert plan["host"]["peak_bytes"] == pytest.approx(_resident_peak_bytes(path), rel=0.05)


def test_what_python_gives_back_is_gone_when_libraries_end(host, script):
    path = script("""
        import torch
        net = torch.nn.Linear(4096, 4096)
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(3):
            net(torch.ones(8, 4096)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    """)
    _, plan = host(path)
    # Weights and state make room for what libraries read then, unless somebody keeps them.
    assert plan["host"]["categories"].get("exit", 0) < 20 * MIB
    assert plan["host"]["peak_bytes"] == pytest.approx(_resident_peak_bytes(path), rel=0.05)


@pytest.mark.parametrize(
    ("line", "uses_card"), [("state = torch.cuda.get_rng_state()", False), ("net.cuda()(torch.zeros(8, 64).cuda())", True)]
)
def test_whoever_asks_cuda_for_something_uses_no_card_before_anything_lies_on_it(host, script, line, uses_card):
    _, plan = host(script(f"""
        import torch
        net = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(5):
            net(torch.zeros(8, 64)).sum().backward()
            optimizer.step()
        {line}
    """))
    assert plan.get("uses_card", True) == uses_card
    assert ("cuda" in plan["host"]["categories"]) == uses_card


def test_tensors_that_a_plan_leaves_unfilled_are_the_jobs(host, script):
    code, plan = host(script("""
        import torch
        weights = [torch.randn(1 << 26) for _ in range(6)]
        pinned = torch.empty(300 << 20, dtype=torch.uint8, pin_memory=True)
        net = torch.nn.Linear(8, 8).cuda()
        net(torch.zeros(8, 8).cuda())
    """))
    told = plan["host"]
    assert code == 0 and told["tensor_bytes"] == pytest.approx(6 * 256 * MIB, rel=0.01)
    # PyTorch rounds pinned memory up to a power of two.
    assert told["pinned_bytes"] == pytest.approx(512 * MIB, rel=0.01)
    assert told["process_bytes"] > told["tensor_bytes"] + told["pinned_bytes"] + 400 * MIB
    assert told["estimated"] == ["cuda"]


def test_what_the_rest_of_a_loop_keeps_on_the_host_is_told(host, script):
    _, plan = host("--host-memory", "2GiB", script("""
        import torch
        net = torch.nn.Linear(64, 64).cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = []
        for step in range(5000):
            net(torch.zeros(8, 64).cuda()).sum().backward()
            optimizer.step()
            kept.append(torch.ones(1 << 18))
    """))
    growth = plan["host"]["growth"]
    assert growth["line"] == 6 and growth["bytes_per_iteration"] == pytest.approx(MIB, rel=0.1)
    assert growth["runs_out_after_iterations"] < 2048 and not plan["fits"]
    assert plan["host"]["tensor_bytes"] == pytest.approx(5000 * MIB, rel=0.01)


def test_what_grows_without_a_card_is_told_by_line(host, script):
    _, plan = host("--host-memory", "16GiB", script("""
        import torch
        net = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = []
        for step in range(10_000_000):
            net(torch.zeros(8, 64)).sum().backward()
            optimizer.step()
            kept.append(torch.ones(1 << 18))
    """))
    growth = plan["host"]["growth"]
    assert growth["line"] == 6 and growth["kept_at"]["line"] == 9


def test_workers_copy_what_they_use(host, script):
    _, plan = host(script("""
        import torch
        class Records(torch.utils.data.Dataset):
            def __init__(self): self.records = [(float(n), str(n)) for n in range(300_000)]
            def __len__(self): return len(self.records)
            def __getitem__(self, index): return torch.full((1024,), self.records[index][0])
        net = torch.nn.Linear(1024, 1)
        for batch in torch.utils.data.DataLoader(Records(), batch_size=64, num_workers=2, shuffle=True):
            net(batch)
    """))
    told = plan["host"]
    assert told["workers"] == 2
    assert told["categories"]["prefetched"] == pytest.approx(2 * 2 * 64 * 4096, rel=0.01)
    # A tuple, a number and a short text each, copied by both.
    assert told["categories"]["workers"] > 2 * 300_000 * (56 + 24 + 50)


def test_a_data_set_whose_objects_answer_no_question_is_left_alone(host, script):
    """Configurations are often dictionaries whose keys are attributes: what is not there is a `KeyError` of theirs."""
    _, plan = host(script("""
        import torch
        class Words(dict):
            __getattr__ = dict.__getitem__
        class Broken:
            def __len__(self): raise OSError("no length")
            def __getattr__(self, name): raise OSError(name)
        class Records(torch.utils.data.Dataset):
            def __init__(self): self.words, self.broken = Words(rate=1), [Broken()]
            def __len__(self): return 64
            def __getitem__(self, index): return torch.zeros(8)
        class Tens(torch.utils.data.Sampler):
            def __iter__(self): return iter([list(range(10))] * 4)
            @property
            def batch_size(self): raise OSError("no size")
        net = torch.nn.Linear(8, 1)
        for given in ({"batch_size": 8}, {"batch_sampler": Tens()}):
            for batch in torch.utils.data.DataLoader(Records(), num_workers=2, **given):
                net(batch)
    """))
    assert plan["host"]["workers"] == 2
