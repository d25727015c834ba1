"""Remedies that change precision: near the plain script, and the script as it was where they do not apply."""

from __future__ import annotations

from typing import Any

import pytest
from remedied import run

HEAD = """
import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 8), torch.randn(64, 4)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(8, 32), nn.LayerNorm(32), nn.Linear(32, 8)
        self.batch_norm, self.last = nn.BatchNorm1d(8), nn.Linear(8, 4)
        self.seen = set()

    def forward(self, x):
        x = self.first(x)
        self.seen.add(str(x.dtype))
        return {"out": self.last(self.batch_norm(self.second(self.norm(x).tanh())))}
"""
TRAINING = (
    HEAD
    + """
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for step in range(30):
    out = model(x)["out"]
    loss = (out - y).pow(2).mean() * SCALE
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item() / SCALE)
RESULT = {
    "losses": losses, "inside": sorted(model.seen), "out": str(out.dtype), "norm": norm.item() / SCALE,
    "weights": [str(p.dtype) for p in model.parameters()],
    "moments": sorted({str(state["exp_avg"].dtype) for state in optimizer.state.values()}),
    "statistics": str(model.batch_norm.running_mean.dtype), "random": torch.rand(3),
}
"""
)


def _train(*wanted: dict[str, Any], scale: float = 1.0) -> Any:
    return run(f"SCALE = {scale}\n{TRAINING}", *wanted)


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return _train().result


def _is_near(found: dict[str, Any], plain: dict[str, Any], relative: float) -> bool:
    return found["losses"] == pytest.approx(plain["losses"], rel=relative)


def test_autocast_computes_in_bfloat16_and_returns_float32(plain: dict[str, Any]) -> None:
    found = _train({"name": "autocast"})
    assert found.of("applied") == [{"model": "Model", "dtype": "bfloat16"}]
    assert (found.result["inside"], found.result["out"]) == (["torch.bfloat16"], "torch.float32")
    assert plain["inside"] == ["torch.float32"]
    assert found.result["losses"] != plain["losses"]
    assert _is_near(found.result, plain, 0.01)


def test_gradients_too_small_for_float16_are_kept_and_read_true() -> None:
    """With losses of 1e-6, gradients are below what float16 can hold: unscaled, the model would learn nothing."""
    plain, found = _train(scale=1e-6), _train({"name": "autocast", "dtype": "float16"}, scale=1e-6)
    assert found.result["inside"] == ["torch.float16"]
    assert found.result["norm"] == pytest.approx(plain.result["norm"], rel=0.02)
    assert _is_near(found.result, plain.result, 0.01)


def test_steps_whose_gradients_overflow_are_left_out() -> None:
    found = _train({"name": "autocast", "dtype": "float16"}, scale=1e3)
    assert len(found.of("note")) == 1
    assert found.result["losses"][-1] < found.result["losses"][0]


@pytest.mark.parametrize(
    ("rounding", "moments"), [("stochastic", ["torch.bfloat16", "torch.float32"]), ("master", ["torch.float32"])]
)
def test_weights_in_bfloat16_learn_as_well(plain: dict[str, Any], rounding: str, moments: list[str]) -> None:
    found = _train({"name": "bf16_weights", "rounding": rounding})
    assert found.result["weights"].count("torch.bfloat16") == 8
    # Running statistics, and the weights that go with them, stay as they are.
    assert (found.result["weights"].count("torch.float32"), found.result["statistics"]) == (2, "torch.float32")
    assert found.result["moments"] == moments
    assert found.result["out"] == "torch.float32"
    assert _is_near(found.result, plain, 0.02)
    assert (found.result["random"] == plain["random"]).all(), "the script's own random numbers stay the same"
    assert found.result["losses"] == _train({"name": "bf16_weights", "rounding": rounding}).result["losses"]


def test_updates_too_small_for_bfloat16_are_not_lost() -> None:
    """Steps of 1e-4 from a weight of 1: rounding to the nearest bfloat16 would leave it at 1 for ever."""
    script = """
import torch
from torch import nn
model = nn.Linear(64, 64, bias=False)
nn.init.ones_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for step in range(100):
    model(torch.ones(1, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 1.0])
try:
    from oomph.remedies.rounding import StochasticRounding
    RESULT = {"special": StochasticRounding(torch).rounded(special).float()}
except ImportError:
    RESULT = {}
RESULT.update(mean=model.weight.detach().float().mean().item(), dtype=str(model.weight.dtype))
"""
    found = run(script, {"name": "bf16_weights"}).result
    assert found["dtype"] == "torch.bfloat16"
    assert found["mean"] == pytest.approx(0.99, abs=5e-4)
    assert found["special"].isnan()[0] and found["special"][1:].tolist() == [float("inf"), -float("inf"), 0.0, 1.0]


@pytest.mark.parametrize("name", ["autocast", "bf16_weights"])
def test_scripts_that_chose_a_precision_run_as_they_were(name: str) -> None:
    script = (
        HEAD
        + """
def train(model, **context):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        with torch.autocast("cpu", torch.bfloat16, enabled=context.get("autocast", False)):
            out = model(x.to(model.first.weight.dtype))["out"]
        out.float().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.detach() for p in model.parameters()]

RESULT = {"own": train(Model(), autocast=True), "double": train(Model().double())}
"""
    )
    before, after = run(script), run(script, {"name": name})
    for case in ("own", "double"):
        assert all((one == other).all() for one, other in zip(before.result[case], after.result[case]))
    assert after.of("refused") == [
        "Model stays as it is: the script uses autocast itself",
        "Model stays as it is: its weights are not all in float32",
    ]
    assert not after.of("applied")


def test_weights_stay_as_they_are_under_an_optimizer_that_mixes_them() -> None:
    script = (
        HEAD
        + """
class GlobalNorm(torch.optim.SGD):
    def step(self, closure=None):
        norm = torch.stack([p.grad.norm() for p in self.param_groups[0]["params"]]).norm()
        for p in self.param_groups[0]["params"]:
            p.grad.div_(norm)
        return super().step(closure)
model = Model()
optimizer = GlobalNorm(model.parameters(), lr=0.1)
model(x)["out"].sum().backward()
optimizer.step()
RESULT = {"weights": [p.detach() for p in model.parameters()]}
"""
    )
    before, after = run(script), run(script, {"name": "bf16_weights"})
    assert all((one == other).all() for one, other in zip(before.result["weights"], after.result["weights"]))
    assert after.of("refused") == ["GlobalNorm makes the step of a parameter depend on other parameters."]
