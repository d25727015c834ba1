"""`torch.compile`, `torch.fx` and `torch.jit` see no difference in files whose loops are watched."""

import json
import subprocess
import sys

import pytest

from conftest import ROOT

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(5)])
        self.step = 0

    def forward(self, x):
        return self.body(x)

    def body(self, x):
        outputs, n = [], 0
        if self.step % 3 == 0:
            x = x + 1
        for i, layer in enumerate(self.layers):
            if i % 2 == 0:
                x = layer(x)
                outputs.append(x)
        while n < 3:
            x = x + n
            n += 1
        return sum([output * 2 for output in outputs]) + x

def breaks(x, layers):
    for layer in layers:
        x = layer(x)
        torch._dynamo.graph_break()
    return x

def depends(x):
    while x.sum() < 10:
        x = x + 1
        for k in range(3):
            x = x * 1
    return x
"""
PROGRAM = """
import json, sys, types
sys.path.insert(0, sys.argv[1])
import torch, torch._dynamo
from torch._dynamo.utils import counters
from oomph.watching.activity import Activity
from oomph.watching.loops import Loops

class Recorder:
    recording = False
    def mark(self, name, stage): pass

loops = Loops(Activity(), Recorder(), lambda facts: None, True)
if sys.argv[3] == "watched":
    loops.install()
source = open(sys.argv[2], "rb").read()
code = loops.compile_main(source, sys.argv[2]) if sys.argv[3] == "watched" else compile(source, sys.argv[2], "exec")
module = sys.modules["job"] = types.ModuleType("job")
exec(code, module.__dict__)
net, x = module.Net(), torch.ones(2, 4)

def told(function, *arguments):
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(function, backend="eager")
    for _ in range(3):
        compiled(*arguments)
    breaks = sum(counters["graph_break"].values())
    return [dict(counters["stats"]), dict(counters["frames"]), breaks, len(counters["recompiles"])]

result = {
    "body": told(net.body, x),
    "module": told(net, x),
    "breaks": told(module.breaks, x, list(net.layers)),
    "depends": told(module.depends, x),
    "traced": torch.fx.symbolic_trace(net).code,
    "jit": str(torch.jit.trace(net, x).graph).count("aten::"),
}
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What torch made of the same file, by how it was compiled."""
    path = tmp_path_factory.mktemp("compiling") / "job.py"
    path.write_text(SOURCE)
    found = {}
    for how in ("plain", "watched"):
        command = [sys.executable, "-c", PROGRAM, str(ROOT / "python"), str(path), how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found[how] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("what", ["body", "module", "breaks", "depends", "traced", "jit"])
def test_torch_sees_no_difference(results, what):
    assert results["watched"][what] == results["plain"][what]


def test_something_was_compiled(results):
    assert results["plain"]["body"][0]["unique_graphs"] == 1
