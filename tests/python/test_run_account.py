"""The account of `oomph run`: it adds up to what the card reports, and what leaks is told of before it is too late."""

import json
import re
import subprocess
import sys
import urllib.request

from hollow_card import card, hollow_environment
from running import account_in, recorded, start

#: Keeps 64 MiB from every step, slowly enough to be watched.
LEAKING = """
import time, torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for step in range(60):
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    kept.append(torch.empty(1 << 24, device="cuda"))
    time.sleep(0.1)
"""
#: Holds 1 GiB of the same card until it is ended.
NEIGHBOUR = "import torch, time; x = torch.empty(1 << 30, device='cuda', dtype=torch.uint8); print('held', flush=True); time.sleep(600)"
STEP_BYTES = 64 << 20


def test_a_shared_card_adds_up_and_a_leak_is_foretold(oomph, script, tmp_path):
    shared = {"OOMPH_HOLLOW_LEDGER": str(tmp_path / "ledger")}
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], env=hollow_environment(**shared), stdout=subprocess.PIPE, text=True)
    try:
        assert neighbour.stdout.readline() == "held\n"
        options = ["--limit", "20GiB", "--metrics", "0"]
        job = start(oomph, tmp_path, script(LEAKING), options=options, environment=shared, stderr=subprocess.PIPE)
        forecasts = list(watch(job))
        err = job.stderr.read()
        assert job.wait() == 0, err
    finally:
        neighbour.kill()
        neighbour.wait()
    account = account_in(tmp_path)
    device = account["device"]
    parts = [device[part] for part in ("reserved_bytes", "outside_pytorch_bytes", "other_processes_bytes")]
    assert sum(parts) == device["used_bytes"]
    assert parts[2] > 1 << 30, "the neighbour's"
    assert 0 < parts[1] < 2 << 30, "the CUDA context's"
    assert account["verdict"]["class"] == "leak" and account["verdict"]["line"] == 10
    steps, left = forecasts[-1]
    assert abs(steps + left - (20 << 30) / STEP_BYTES) < 20, forecasts


def watch(job):
    """Steps done and steps left, as often as there is a forecast."""
    address = re.search(r"http://\S+", job.stderr.readline()).group(0)
    while job.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                page = answer.read().decode()
        except OSError:
            return
        found = [re.search(rf"^{name} (\d+)$", page, re.MULTILINE) for name in ("oomph_steps_total", "oomph_forecast_steps")]
        if all(found):
            yield tuple(int(figure.group(1)) for figure in found)
        try:
            job.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            pass


def test_every_rank_has_its_row_and_its_record(oomph, script, tmp_path):
    path = script("""
        import os, torch
        rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(rank)
        model = torch.nn.Linear(512 * (rank + 1), 512).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(64, 512 * (rank + 1), device="cuda")).sum().backward()
            optimizer.step()
    """)
    cards = {"OOMPH_HOLLOW_CARDS": json.dumps([card(), card()])}
    words = ("torchrun", "--nproc-per-node", "2", path)
    ran = recorded(oomph, tmp_path, *words, options=["--record", str(tmp_path / "run.oomph")], environment=cards)
    assert ran.code == 0, ran.err
    rows = [(process["rank"], process["device"], process["steps"]) for process in ran.account["processes"]]
    assert sorted(rows) == [(0, 0, 4), (1, 1, 4)]
    assert "rank 1 on cuda:1" in ran.err, "the largest is explained"
    assert (tmp_path / "run.oomph").exists() and (tmp_path / "run-rank0.oomph").exists()


#: A batch norm: its batches cannot be divided without other results.
NORMED = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for features, labels in torch.utils.data.DataLoader([(torch.ones(64), 1)] * 64, batch_size=16):
    loss = torch.nn.functional.cross_entropy(model(features.cuda()), labels.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_what_became_of_each_remedy_is_told_by_plans_and_real_runs(oomph, script, tmp_path):
    path = script(NORMED)
    words = ("--with", "micro_batches:parts=2", "--with", "lean_optimizer")
    code, out, err = oomph("plan", "--json", *words, path)
    assert code == 0, err
    refused, applied = json.loads(out)["remedies"]
    assert (refused["name"], refused["applied"], len(refused["sentences"])) == ("micro_batches", False, 1)
    assert applied == {"name": "lean_optimizer", "applied": True, "sentences": []}
    _, text, _ = oomph("plan", *words, path)
    flat = " ".join(text.split())
    assert f"micro_batches: not applied: {refused['sentences'][0]}" in flat and "lean_optimizer: applied" in flat
    ran = recorded(oomph, tmp_path, path, options=words)
    assert ran.code == 0
    notes = account_in(tmp_path)["notes"]
    assert [note for note in notes if "micro_batches: not applied: " in note] and not [note for note in notes if "lean" in note]
