"""The host's side of a plan: random numbers as always, tensors larger than the machine, devices by default."""

import json
import subprocess
import sys
import textwrap

import pytest

DRAWS = """
    import torch
    torch.manual_seed(0)
    print("draw", torch.nn.Linear(1024, 1024).bias[:2].tolist(), torch.rand(2).tolist())
    torch.randn(300, 1001), torch.nn.Embedding(50000, 64), torch.nn.LSTM(512, 512)
    print("draw", torch.randperm(5).tolist(), torch.randint(0, 100, (3,)).tolist(), torch.randn(17)[:2].tolist())
    torch.empty(600, 700).uniform_(), torch.nn.init.trunc_normal_(torch.empty(1000, 1000, dtype=torch.float64))
    torch.nn.init.orthogonal_(torch.empty(1000, 600)), torch.randn(5000, 5000)
    print("draw", torch.empty((), dtype=torch.int64).random_().item(), torch.bernoulli(torch.full((5,), 0.5)).tolist())
    generator = torch.Generator().manual_seed(3)
    torch.rand(5000, 5000, dtype=torch.bfloat16, generator=generator)
    print("draw", torch.rand(2, generator=generator).tolist(), (torch.rand(1000, 1000) < 0.1).sum().item())
    torch.nn.Linear(1024, 1024)
    state = torch.get_rng_state()
    torch.nn.Linear(1024, 1024), torch.set_rng_state(state)
    print("draw", torch.rand(2).tolist())
"""


@pytest.fixture
def script(tmp_path):
    """Writes a script and returns its path."""

    def write(text):
        path = tmp_path / "job.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


def test_random_numbers_of_the_host_are_those_of_a_run_without_oomph(oomph, script):
    path = script(DRAWS)
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout.splitlines()
    path.write_text(path.read_text() + "torch.zeros(1).cuda()\n")
    _, _, err = oomph("plan", "--show-output", "--json", path)
    assert [line for line in err.splitlines() if line.startswith("draw")] == plain


def test_host_tensors_may_be_larger_than_the_machine(oomph, script):
    code, out, err = oomph("plan", "--json", "--memory", "500GiB", script("""
        import resource, torch
        count = 100_000_000_000
        for make in (torch.zeros, torch.ones, torch.empty, torch.rand):
            make(count).half().cuda()
        torch.empty(count).fill_(1).to("cuda", torch.bfloat16)
        torch.zeros(count // 4, dtype=torch.int64).cuda()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20, "kilobytes"
    """))
    assert code == 0, err
    assert json.loads(out)["peak_allocated_bytes"] == 200_000_000_000


def test_a_default_device_holds_for_every_way_to_make_a_tensor(oomph, script):
    code, _, err = oomph("plan", script("""
        import torch
        def made():
            yield from (torch.zeros(3), torch.ones(2), torch.rand(2, 2), torch.full((2,), 1.0), torch.empty(3))
            yield from (torch.randn(1000, 1000), torch.arange(3), torch.nn.Linear(8, 8).weight)
        with torch.device("cuda"):
            assert all(tensor.is_cuda for tensor in made())
        assert not any(tensor.is_cuda for tensor in made())
        torch.set_default_device("cuda")
        assert all(tensor.is_cuda for tensor in made())
    """))
    assert code == 0, err


def test_what_the_plan_keeps_of_batches_is_not_what_the_job_keeps(oomph, script):
    """Batches of whole numbers are known beside the card for as long as they live there."""
    code, out, err = oomph("plan", "--json", script("""
        import torch
        data = torch.randint(0, 256, (1_000_000,))
        net = torch.nn.Sequential(torch.nn.Embedding(256, 64), torch.nn.Linear(64, 256)).cuda()
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(100_000):
            at = int(torch.randint(0, 900_000, (1,)))
            batch = data[at:at + 40_000].view(40, 1000).clone().cuda()
            loss = torch.nn.functional.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    """))
    assert code == 0, err
    host = json.loads(out)["host"]
    assert host["growth"] is None
    # The data set, and a batch that is drawn while nothing else lies there.
    assert host["tensor_bytes"] < 8_000_000 + 3 * 320_000
