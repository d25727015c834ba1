"""What is done again after a shortage: exactly what a run without the shortage does, or nothing."""

import textwrap

import pytest
from remedied import difference, run

START = """
import random
import torch
from torch import nn
from oomph.remedies import retrying
torch.manual_seed(0), random.seed(0)
torch.set_default_dtype(torch.float64)
TOLD = []
retrying.install(torch, TOLD.append)
RESULT = {}
SHORT = {}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(16, 32), nn.Dropout(0.3), nn.Linear(32, 4)
    def forward(self, x):
        x = self.drop(torch.tanh(self.first(x))) * (1 + random.random())
        if x.shape[0] > SHORT.get("rows", 100):
            raise torch.OutOfMemoryError("injected")
        return self.last(x)

net = Net()
x, y = torch.randn(16, 16), torch.randn(16, 4)
"""


def ran(script: str, *remedies):
    return run(START + textwrap.dedent(script), *remedies)


CALLS = """
for step in range(3):
    loss = (net(x) - y).square().mean()
    loss.backward()
RESULT["gradients"] = [p.grad for p in net.parameters()]
RESULT["drawn after"] = [torch.rand(3), random.random()]
"""


def test_a_divided_call_is_made_again_in_smaller_parts_with_the_same_random_numbers():
    divided = ran(CALLS, {"name": "chunk_calls", "parts": 8})
    short = ran("SHORT['rows'] = 3" + CALLS + "RESULT['told'] = TOLD", {"name": "chunk_calls", "parts": 2})
    told = short.result.pop("told")
    assert difference(divided.result, short.result) == 0.0
    assert [sentence.split(": ")[1] for sentence in told] == [
        "Net takes its batches in 4 parts from now on",
        "Net takes its batches in 8 parts from now on",
    ], "and stays there"


def test_an_evaluation_is_made_again_too():
    script = "net.eval()\nwith torch.no_grad():\n    RESULT['output'] = net(x)\nRESULT['told'] = len(TOLD)\n"
    short = ran("SHORT['rows'] = 4\n" + script, {"name": "chunk_evaluation", "parts": 2})
    whole = ran(script, {"name": "chunk_evaluation", "parts": 4})
    assert short.result.pop("told") == 1 and whole.result.pop("told") == 0
    assert difference(whole.result, short.result) == 0.0


def test_single_samples_that_do_not_fit_are_an_error():
    short = ran("""
    net(x)
    SHORT["rows"] = 0
    try:
        net(x)
    except torch.OutOfMemoryError as problem:
        RESULT["problem"] = str(problem)
    """, {"name": "chunk_calls", "parts": 4})
    assert short.result["problem"] == "injected"


#: A shortage in the first steps of an optimizer, in a function that it calls; and the steps after it.
STEPS = """
calls = []
def short_of(place, name, failures, after):
    original = getattr(place, name)
    def function(*args, **kwargs):
        calls.append(name)
        if len(calls) > after and failures:
            failures.pop()
            raise torch.OutOfMemoryError("injected")
        return original(*args, **kwargs)
    setattr(place, name, function)

optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, foreach=FOREACH)
INJECTED
for step in range(4):
    optimizer.zero_grad()
    (net(x) - y).square().mean().backward()
    try:
        optimizer.step()
    except torch.OutOfMemoryError:
        RESULT["problem"] = 1.0
        break
RESULT["weights"] = [p.detach() for p in net.parameters()]
RESULT["steps"] = [float(optimizer.state[p]["step"]) for p in net.parameters() if optimizer.state[p]]
RESULT["told"] = TOLD
"""


def stepped(injected: str = "", foreach: bool = True):
    script = STEPS.replace("FOREACH", str(foreach)).replace("INJECTED", injected)
    return ran(script).result


def without_words(result: dict) -> dict:
    return {name: value for name, value in result.items() if name != "told"}


@pytest.mark.parametrize(("failures", "said"), [(1, "with empty caches"), (2, "its state is on the host from now on")])
def test_the_first_step_is_taken_again_where_its_state_found_no_room(failures: int, said: str):
    # The second moment of the second parameter.
    short = stepped(f"short_of(torch, 'zeros_like', [1] * {failures}, 3)")
    assert len(short["told"]) == 1 and short["told"][0].endswith(said)
    assert difference(without_words(stepped()), without_words(short)) == 0.0
    assert short["steps"] == [4.0] * 4


def test_a_step_that_has_changed_weights_is_not_taken_again():
    # Weights have decayed by then.
    short = stepped("short_of(torch, '_foreach_sqrt', [1], 0)")
    assert short["problem"] == 1.0 and not short["told"]


def test_only_the_first_step_is_taken_again():
    short = stepped("short_of(torch, '_foreach_lerp_', [1], 1)")
    assert short["problem"] == 1.0 and not short["told"]


#: Two processes that average their gradients, of which the second one runs out: `NET` is what they train.
TWO_PROCESSES = """
import os, sys, tempfile
import torch.distributed as dist
store = tempfile.mkstemp()[1]
rank = 1 if os.fork() else 0
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
net.drop.p = 0.0
x, y = torch.randn(32, 16)[rank::2], torch.randn(32, 4)[rank::2]
random.random = lambda: 0.5
model = NET
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, foreach=False)
PREPARED
def leave(*_problem):
    os._exit(0)
if not rank:
    # Nobody asks this one how it ended.
    sys.excepthook = leave
try:
    for step in range(3):
        if rank == 1 and step == 1:
            SHORT["rows"] = ROWS
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
    dist.barrier()
except torch.OutOfMemoryError as problem:
    RESULT["problem"] = str(problem)
RESULT["weights"] = [p.detach().clone() for p in net.parameters()]
RESULT["told"] = TOLD
if not rank:
    leave()
"""

#: A model whose call exchanges something with the other process.
SENDING = """
class Sending(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    def forward(self, x):
        dist.all_reduce(torch.ones(1))
        return self.net(x)
"""


def of_second_process(rows: int = 100, net: str = "net", prepared: str = "", *remedies):
    script = TWO_PROCESSES.replace("NET", net).replace("PREPARED", prepared).replace("ROWS", str(rows))
    return ran(script, *remedies).result


def test_one_process_repeats_what_sends_nothing_to_the_others():
    whole = of_second_process()
    short = of_second_process(4, "net", "", {"name": "chunk_calls", "parts": 2})
    assert [sentence.split(": ")[1] for sentence in short["told"]] == ["Net takes its batches in 4 parts from now on"]
    assert "problem" not in short and difference(whole["weights"], short["weights"]) < 1e-14
    stepped_again = """
zeros_like, failures = torch.zeros_like, [1] * rank
def short_of(*args, **kwargs):
    if failures:
        failures.pop()
        raise torch.OutOfMemoryError("injected")
    return zeros_like(*args, **kwargs)
torch.zeros_like = short_of
"""
    short = of_second_process(100, "net", stepped_again)
    assert len(short["told"]) == 1 and short["told"][0].endswith("with empty caches")
    assert difference(whole["weights"], short["weights"]) == 0.0


def test_nothing_is_repeated_that_others_are_in_the_middle_of():
    sending = SENDING + "model = Sending()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
    short = of_second_process(4, "net", sending, {"name": "chunk_calls", "parts": 2})
    assert short["problem"] == "injected" and len(short["told"]) == 1
    assert "sends to other processes on its way and was not repeated" in short["told"][0]
