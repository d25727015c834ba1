"""The model called with parts of the batch where no graph is kept: what it returns is what it returns for the whole."""

import textwrap

import pytest
from remedied import difference, run

REMEDY = {"name": "chunk_evaluation", "parts": 4}

START = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
RESULT, CALLS = {}, []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.Linear(8, 5)
    def forward(self, x):
        CALLS.append(len(x))
        return self.head(self.norm(self.conv(x)).relu().mean(-1))

net = Net()
"""


def both(script: str):
    """The same script without and with the remedy."""
    script = START + textwrap.dedent(script)
    return run(script), run(script, REMEDY)


@pytest.mark.parametrize("mode", ["torch.no_grad", "torch.inference_mode"])
def test_evaluation_is_divided_and_training_is_not(mode):
    plain, remedied = both(f"""
    for epoch in range(2):
        net.train()
        out = net(torch.randn(6, 3, 9))
        out.square().sum().backward()
        net.eval()
        with {mode}():
            RESULT[epoch] = [out.detach(), net(torch.randn(16, 3, 9)).clone(), net(torch.randn(5, 3, 9)).clone()]
    RESULT["calls"] = CALLS
    """)
    calls = remedied.result.pop("calls")
    assert plain.result.pop("calls") == [6, 16, 5, 6, 16, 5]
    assert calls[0] == 6 and calls[-8:] == [6, 4, 4, 4, 4, 2, 2, 1]
    assert remedied.of("applied") == [{"module": "Net", "parts": 4}] and not remedied.of("refused")
    assert difference(plain.result, remedied.result) < 1e-12


def test_what_is_never_trained_is_divided_too():
    plain, remedied = both("""
    with torch.no_grad():
        RESULT["out"] = net.eval()(torch.randn(8, 3, 9))
    """)
    assert remedied.of("applied") == [{"module": "Net", "parts": 4}]
    assert difference(plain.result, remedied.result) < 1e-12


def test_statistics_of_the_whole_batch_are_left_alone():
    plain, remedied = both("""
    with torch.no_grad():
        RESULT["out"] = net(torch.randn(8, 3, 9))
    """)
    assert remedied.of("refused") == [
        "Net is called with whole batches: the statistics of its batch norms are of the whole batch"
    ]
    assert difference(plain.result, remedied.result) == 0
