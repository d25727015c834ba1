"""A real run with remedies that runs out of memory all the same: what can be repeated exactly is, and it says so."""

import pytest
from running import recorded

EVALUATION = """
import torch
from torch import nn

width = 2048
blocks = [nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4)]
model = nn.Sequential(*blocks).cuda().eval()
with torch.no_grad():
    for step in range(3):
        assert model(torch.randn(16384, width, device="cuda")).shape == (16384, width)
"""

TRAINING = """
import torch
from torch import nn

width = 2048
blocks = [nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4)]
model = nn.Sequential(*blocks).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    model(torch.randn(64, width, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("text", "remedy", "limit", "said"),
    [
        (EVALUATION, '{"name": "chunk_evaluation", "parts": 2}', "1100MiB", "takes its batches in 8 parts from now on"),
        (TRAINING, '{"name": "lean_optimizer"}', "1800MiB", "its state is on the host from now on"),
    ],
)
def test_a_shortage_that_can_be_undone_ends_no_job(oomph, tmp_path, script, text, remedy, limit, said):
    plan = tmp_path / "plan.json"
    fields = '"made_us": 0, "torch": null, "trials": [], "allocator": null, "slowdown_percent": 100'
    plan.write_text(f'{{{fields}, "remedies": [{remedy}]}}')
    ran = recorded(oomph, tmp_path, script(text), options=["--plan", str(plan), "--limit", limit])
    assert ran.code == 0, ran.err
    assert said in " ".join(ran.err.split())
    # The same job without a plan: nothing is repeated.
    plain = recorded(oomph, tmp_path, script(text), options=["--limit", limit])
    assert plain.code == 1 and "OutOfMemoryError" in plain.err and said not in " ".join(plain.err.split())
