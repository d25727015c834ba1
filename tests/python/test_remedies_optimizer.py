"""Remedies that change how optimizers step: the same numbers, with less on the card, or the script as it was."""

from __future__ import annotations

from typing import Any

import pytest
from remedied import difference, run

HEAD = """
import gc
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(32, 8), torch.randn(32, 4)
counted = []
register_optimizer_step_post_hook(lambda optimizer, *_: counted.append(type(optimizer).__name__))

def network(width=600):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 4))

def gradients_left(model):
    # Not through the parameter, which tells who reads its gradient.
    return sum(torch.Tensor.grad.__get__(p) is not None for p in model.parameters())

def weights(model):
    return [p.detach().clone() for p in model.parameters()]
"""

TRAINING = (
    HEAD
    + """
RESULT = {}
for make in (
    lambda p: torch.optim.AdamW(p, lr=1e-2),
    lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    lambda p: torch.optim.Adagrad(p, lr=1e-2),
):
    model = network()
    groups = [{"params": model[0].parameters(), "lr": 3e-3}, {"params": model[2].parameters(), "weight_decay": 0.1}]
    optimizer = make(groups)
    name = type(optimizer).__name__
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [0.05, 0.02], total_steps=20, cycle_momentum=name != "Adagrad"
    )
    left = []
    for step in range(20):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        left.append(gradients_left(model))
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    RESULT[name] = weights(model)
    RESULT[name + " state"] = [
        value for _, state in sorted(optimizer.state_dict()["state"].items()) for value in state.values()
    ]
    RESULT[name + " steps"] = counted.count(name)
    RESULT[name + " left"] = left
    optimizer = scheduler = None
    gc.collect()
"""
)


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return run(TRAINING).result


@pytest.mark.parametrize(
    "wanted",
    [
        [{"name": "lean_optimizer", "how": "single"}],
        [{"name": "step_in_backward"}],
        [{"name": "step_in_backward", "watch_steps": 0}],
        [{"name": "optimizer_on_host", "device_types": ["cpu"], "device_bytes": 50_000}],
        [
            {"name": "optimizer_on_host", "device_types": ["cpu"], "device_bytes": 50_000},
            {"name": "step_in_backward", "watch_steps": 0},
            {"name": "lean_optimizer", "how": "single"},
        ],
    ],
    ids=["lean", "in backward", "in backward at once", "on host", "all"],
)
def test_twenty_steps_are_bitwise_the_same(plain: dict[str, Any], wanted: list[dict[str, Any]]) -> None:
    remedied = run(TRAINING, *wanted)
    assert difference(_numbers(plain), _numbers(remedied.result)) == 0.0
    assert remedied.result["AdamW steps"] == 20
    steps_at_once = any(choice.get("watch_steps") == 0 for choice in wanted)
    assert (remedied.result["SGD left"] == [0] * 20) == steps_at_once
    applied = {(name, facts["optimizer"]) for name, kind, facts in remedied.told if kind == "applied"}
    assert applied == {(choice["name"], kind) for choice in wanted for kind in ("AdamW", "SGD", "Adagrad")}
    assert not remedied.of("refused")


def _numbers(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if not name.endswith("left")}


def test_gradients_are_freed_during_the_backward_pass(plain: dict[str, Any]) -> None:
    assert plain["AdamW left"] == [4] * 20
    assert run(TRAINING, {"name": "step_in_backward"}).result["AdamW left"] == [4] + [0] * 19


def test_lean_optimizers_respect_what_the_script_has_chosen() -> None:
    script = (
        HEAD
        + """
RESULT = {}
def groups(name, optimizer):
    (sum(p.sum() for group in optimizer.param_groups for p in group["params"])).backward()
    optimizer.step()
    RESULT[name] = [(group.get("foreach"), group.get("fused")) for group in optimizer.param_groups]

groups("open", torch.optim.AdamW(network().parameters()))
groups("foreach", torch.optim.AdamW(network().parameters(), foreach=True))
groups("fused", torch.optim.AdamW(network().parameters(), fused=True))
groups("differentiable", torch.optim.SGD(network().parameters(), lr=0.1, differentiable=False, foreach=False))
class Own(torch.optim.Optimizer):
    def step(self, closure=None):
        pass
groups("own", Own(network().parameters(), {}))
"""
    )
    remedied = run(script, {"name": "lean_optimizer", "how": "fused"})
    assert remedied.result == {
        # There is no card here, so no fused kernel either.
        "open": [(False, None)],
        "foreach": [(True, None)],
        "fused": [(None, True)],
        "differentiable": [(False, None)],
        "own": [(None, None)],
    }
    assert remedied.of("applied") == [{"optimizer": "AdamW", "how": "single"}]
    assert remedied.of("refused") == [
        "The script has chosen itself how AdamW takes its step.",
        "Own has no other way to take its step.",
    ]


# One function a case. Each trains a small model with a loop that needs all gradients at once, in one way or another.
NEEDS_ALL_GRADIENTS = (
    HEAD
    + """
class GlobalNorm(torch.optim.SGD):
    "Clips by the norm over all parameters, inside its step."
    def step(self, closure=None):
        for group in self.param_groups:
            norm = torch.stack([p.grad.norm() for p in group["params"]]).norm()
            for p in group["params"]:
                p.grad.div_(norm.clamp(min=1))
        return super().step(closure)

def loss_of(model):
    return (model(x) - y).pow(2).mean()

def loop(between=lambda model, optimizer: None, make=torch.optim.AdamW, backwards=1, clear={}, **backward):
    model = network()
    optimizer = make(model.parameters(), lr=1e-2)
    for step in range(4):
        for _ in range(backwards):
            loss_of(model).backward(**backward)
        between(model, optimizer)
        optimizer.step()
        optimizer.zero_grad(**clear)
    return weights(model)

def clipping():
    return loop(lambda model, _: nn.utils.clip_grad_norm_(model.parameters(), 0.1))

def reading():
    return loop(lambda model, _: [p.grad.mul_(0.5) for p in model.parameters()])

def accumulating():
    return loop(backwards=2)

def keeping_graphs():
    return loop(retain_graph=True)

def zeroing_in_place():
    return loop(clear={"set_to_none": False})

def changing_rates():
    def slower(_, optimizer):
        optimizer.param_groups[0]["lr"] *= 0.5
    return loop(slower)

def global_norms():
    return loop(make=GlobalNorm)

def scaling():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(4):
        scaler.scale(loss_of(model)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return weights(model)

def closures():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    def closure():
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss
    losses = [optimizer.step(closure).item() for step in range(4)]
    return [losses, weights(model)]

def sharing():
    model = network()
    first, second = torch.optim.AdamW(model.parameters(), lr=1e-2), torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(4):
        loss_of(model).backward()
        first.step()
        second.step()
        first.zero_grad()
    return weights(model)

def adversaries():
    maker, judge = network(), nn.Sequential(nn.Linear(4, 300), nn.Tanh(), nn.Linear(300, 1))
    maker_optimizer = torch.optim.AdamW(maker.parameters(), lr=1e-2)
    judge_optimizer = torch.optim.AdamW(judge.parameters(), lr=1e-2)
    for step in range(6):
        judge_optimizer.zero_grad()
        (judge(maker(x).detach()) - judge(y)).mean().backward()
        judge_optimizer.step()
        maker_optimizer.zero_grad()
        judge(maker(x)).pow(2).mean().backward()
        maker_optimizer.step()
    return weights(maker) + weights(judge)

RESULT = {}
for case in CASES:
    RESULT[case] = globals()[case]()
    gc.collect()
"""
)
REFUSED_IN_BACKWARD = {
    "clipping": "The script reads gradients between the backward pass and the step, to clip, scale or log them.",
    "reading": "The script reads gradients between the backward pass and the step, to clip, scale or log them.",
    "scaling": "The script reads gradients between the backward pass and the step, to clip, scale or log them.",
    "accumulating": "There are several backward passes to a step.",
    "keeping_graphs": "The script keeps the graph of a backward pass for another one.",
    "zeroing_in_place": "The script starts a backward pass without setting the gradients of before to None.",
    "changing_rates": "The script changes options of AdamW between the backward pass and the step.",
    "global_norms": "GlobalNorm makes the step of a parameter depend on other parameters.",
    "closures": "The script gives AdamW.step a function that runs the backward pass.",
    "sharing": "Several optimizers step the same parameter.",
    "adversaries": "There are several backward passes to a step.",
}


def _cases(*names: str) -> str:
    return f"CASES = {names!r}\n{NEEDS_ALL_GRADIENTS}"


def test_loops_that_need_all_gradients_run_as_they_were() -> None:
    script = _cases(*REFUSED_IN_BACKWARD)
    before = run(script).result
    after = run(script, {"name": "step_in_backward"})
    assert difference(before, after.result) == 0.0
    assert set(after.of("refused")) == set(REFUSED_IN_BACKWARD.values())


@pytest.mark.parametrize("case", ["clipping", "scaling", "adversaries"])
def test_each_such_loop_is_refused_alone(case: str) -> None:
    after = run(_cases(case), {"name": "step_in_backward"})
    assert REFUSED_IN_BACKWARD[case] in after.of("refused")


LATE = (
    HEAD
    + """
model = network()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
RESULT = {}
for step in range(4):
    (model(x) - y).pow(2).mean().backward()
    if step == 2:
        try:
            TROUBLE
        except RuntimeError as error:
            RESULT["error"] = str(error)
            break
    optimizer.step()
    optimizer.zero_grad()
"""
)


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "freed the gradient that is asked for"),
        ("(model(x) - y).pow(2).mean().backward()", "a second backward pass comes before"),
        ("optimizer.param_groups[0]['lr'] = 1.0; optimizer.step()", "were changed between the backward pass"),
    ],
)
def test_what_can_no_longer_be_undone_is_an_error(trouble: str, message: str) -> None:
    script = LATE.replace("TROUBLE", trouble)
    assert "error" not in run(script).result
    assert message in run(script, {"name": "step_in_backward"}).result["error"]


def test_optimizer_state_on_the_host_takes_any_loop_but_one_that_mixes_parameters() -> None:
    script = _cases(*REFUSED_IN_BACKWARD)
    before = run(script).result
    after = run(script, {"name": "optimizer_on_host", "device_types": ["cpu"], "device_bytes": 1000})
    assert difference(before, after.result) == 0.0
    assert after.of("refused") == [REFUSED_IN_BACKWARD["global_norms"]]
    assert {"optimizer": "AdamW", "device_bytes": 1000} in after.of("applied")


def test_the_card_never_holds_more_state_than_it_may() -> None:
    """Two small parts of the state at once, and checkpoints as ever: written by one, read by the other."""
    script = (
        HEAD
        + """
model = nn.Sequential(*[nn.Linear(64, 64, bias=False) for _ in range(12)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
def train(steps):
    for step in range(steps):
        model(torch.ones(4, 64) * step).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
train(2)
try:
    from oomph.remedies import host_state
    visitors, most = {}, 0
    fetched, left = host_state.HostState._fetched, host_state.HostState._left
    def count_in(self, tensor, home):
        global most
        visitor = fetched(self, tensor, home)
        if visitor is not tensor:
            visitors[id(visitor)] = visitor.nbytes
            most = max(most, sum(visitors.values()))
        return visitor
    def count_out(self, tensor, pointer):
        visitors.pop(id(tensor), None)
        return left(self, tensor, pointer)
    host_state.HostState._fetched, host_state.HostState._left = count_in, count_out
except ImportError:
    pass
train(2)
saved = optimizer.state_dict()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
optimizer.load_state_dict(saved)
train(2)
RESULT = {"weights": weights(model), "most": most, "left": len(visitors)}
"""
    )
    wanted = {"name": "optimizer_on_host", "device_types": ["cpu"], "device_bytes": 300_000}
    before, after = run(script), run(script, wanted)
    assert difference(before.result["weights"], after.result["weights"]) == 0.0
    # Two parts of two layers each: the state of a layer takes 65,536 bytes, all of it 786,432.
    assert before.result["most"] == 0
    assert after.result["most"] == 4 * 65_536
    assert after.result["left"] == 0


def test_by_hand() -> None:
    script = (
        HEAD
        + """
from oomph.remedies.lean_optimizer import lean_optimizer
from oomph.remedies.optimizer_on_host import optimizer_on_host
from oomph.remedies.step_in_backward import step_in_backward

def train(*remedies, make=lambda p: torch.optim.AdamW(p, lr=1e-2)):
    model = network()
    optimizer = make(model.parameters())
    for remedy in remedies:
        remedy(optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    left = 0
    for step in range(6):
        (model(x) - y).pow(2).mean().backward()
        left += gradients_left(model)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return weights(model), left, len(counted)

RESULT = {"plain": train(), "lean": train(lambda optimizer: lean_optimizer(optimizer, "single"))}
RESULT["both"] = train(optimizer_on_host, step_in_backward)
try:
    step_in_backward(torch.optim.LBFGS(network().parameters()))
except ValueError as error:
    RESULT["lbfgs"] = str(error)
"""
    )
    found = run(script).result
    plain, lean, both = found["plain"], found["lean"], found["both"]
    assert difference(plain[0], lean[0]) == difference(plain[0], both[0]) == 0.0
    assert (plain[1], lean[1], both[1]) == (24, 24, 0)
    assert (plain[2], lean[2], both[2]) == (6, 12, 18)
    assert found["lbfgs"] == "step_in_backward: LBFGS evaluates the model inside its step."


QUANTIZED = (
    HEAD
    + """
import sys, types
if INSTALLED:
    class AdamW8bit(torch.optim.Optimizer):
        __module__ = "torchao.optim"
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False):
            super().__init__(params, dict(lr=torch.tensor(lr), betas=betas, eps=eps, weight_decay=weight_decay))
            self.block_size = 256
        def step(self, closure=None):
            for group in self.param_groups:
                assert torch.is_tensor(group["lr"]) and self.block_size == 256
                for p in group["params"]:
                    self.state[p]["eight"] = True
                    p.data.sub_(group["lr"] * p.grad)
    sys.modules["torchao"] = types.ModuleType("torchao")
    sys.modules["torchao.optim"] = types.ModuleType("torchao.optim")
    sys.modules["torchao.optim"].AdamW8bit = AdamW8bit
model = network()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **OPTIONS)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for step in range(3):
    model(x).pow(2).mean().backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
RESULT = {"state": [sorted(state) for state in optimizer.state.values()], "lr": optimizer.param_groups[0]["lr"]}
RESULT["steps"] = len(counted)
"""
)


def _quantized(installed: bool, options: str = "{}", bits: int = 8) -> Any:
    script = f"INSTALLED = {installed}\nOPTIONS = {options}\n{QUANTIZED}"
    return run(script, {"name": "quantized_optimizer", "bits": bits})


def test_quantized_optimizers_come_from_an_installed_package() -> None:
    found = _quantized(installed=True)
    assert found.result["state"] == [["eight"]] * 4
    assert found.result["lr"] == pytest.approx(1e-5)
    assert found.result["steps"] == 3
    assert found.of("applied") == [{"optimizer": "AdamW", "by": "torchao.optim.AdamW8bit", "bits": 8}]


@pytest.mark.parametrize(
    ("installed", "options", "bits", "why"),
    [
        (False, "{}", 8, "State in 8 bits needs torchao or bitsandbytes, and it is not installed."),
        (False, "{}", 4, "State in 4 bits needs torchao, and it is not installed."),
        (True, "{'maximize': True}", 8, "AdamW was given maximize=True, which is not known with state in 8 bits."),
    ],
)
def test_without_one_the_optimizer_is_the_scripts(installed: bool, options: str, bits: int, why: str) -> None:
    found = _quantized(installed, options, bits)
    assert found.of("refused") == [why]
    assert found.result["state"] == [["exp_avg", "exp_avg_sq", "step"]] * 4
