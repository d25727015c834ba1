"""Activations that wait on the host: the same gradients, bit by bit, with less on the card."""

from __future__ import annotations

from typing import Any

import pytest
from remedied import difference, run

#: The CPU stands for the card here: what has left is freed, and comes back as another tensor.
WANTED = {"name": "offload_activations", "device_types": ["cpu"], "min_bytes": 1024}

HEAD = """
import gc
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

class Model(nn.Module):
    def __init__(self, recomputed=False):
        super().__init__()
        self.first = nn.Linear(8, 64)
        self.second = nn.Linear(64, 64)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(3))
        self.norm = nn.BatchNorm1d(64)
        self.recomputed = recomputed

    def forward(self, x):
        # Both the function and the layer after it save the same tensor.
        x = self.second(self.first(x).sigmoid())
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recomputed else layer(x)
        return self.norm(x.relu().mean(1))

def gradients(model):
    return [p.grad.clone() for p in model.parameters()]
"""
TRAINING = (
    HEAD
    + """
x = torch.randn(16, 32, 8)
RESULT = {}
for recomputed in (False, True):
    torch.manual_seed(1)
    model = Model(recomputed)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        loss = model(x).pow(3).mean()
        loss.backward(retain_graph=step == 1)
        if step == 1:
            loss.backward()
        optimizer.step()
        RESULT[recomputed, step] = gradients(model)

# A gradient of gradients.
torch.manual_seed(1)
model = Model().eval()
torch.backends.cuda.enable_flash_sdp(False)
x = x[:2].requires_grad_()
bent = model.norm(model.first(x).sin().mean(1)).sum() + model(x).sum() * 0
(slope,) = torch.autograd.grad(bent, x, create_graph=True)
slope.pow(2).sum().backward()
RESULT["twice"] = [p.grad for p in model.parameters() if p.grad is not None]
"""
)


@pytest.fixture(scope="module")
def plain() -> dict[Any, Any]:
    return run(TRAINING).result


@pytest.mark.parametrize(("keep_bytes", "buffer_bytes"), [(0, 1), (300_000, 500_000)])
def test_gradients_are_bitwise_the_same(plain: dict[Any, Any], keep_bytes: int, buffer_bytes: int) -> None:
    """With recomputed layers, graphs that are used twice, and gradients of gradients."""
    remedied = run(TRAINING, {**WANTED, "keep_bytes": keep_bytes, "buffer_bytes": buffer_bytes})
    assert difference(plain, remedied.result) == 0.0
    plainly, recomputed = (facts["moved_bytes"] for facts in remedied.of("applied")[:2])
    assert plainly > 10_000_000
    # Of recomputed layers only what is outside them is seen.
    assert 0 < recomputed < plainly / 10


# Looks at what autograd is given to keep.
COUNTING = (
    HEAD
    + """
from oomph.remedies.offloading import Handle, Offloading

model, x = Model(), torch.randn(16, 32, 8)
pack, taken = Offloading.pack, []
def counted(self, tensor):
    taken.append(pack(self, tensor))
    return taken[-1]
Offloading.pack = counted
RESULT = {"bytes": [], "pool": []}
for step in range(3):
    loss = model(x).pow(2).mean()
    handles = [kept.saved for kept in taken if isinstance(kept, Handle)]
    unique = {id(saved): saved for saved in handles}
    RESULT["handles"] = len(handles)
    RESULT["storages"] = len(unique)
    RESULT["bytes"].append(sum(saved.size for saved in unique.values()))
    RESULT["on_card"] = sum(saved.size for saved in unique.values() if saved.on_card is not None)
    RESULT["weights"] = sum(any(kept is p for p in model.parameters()) for kept in taken)
    OFFLOADING = handles[0]._copies
    taken.clear(); del handles, unique
    loss.backward()
    del loss
    gc.collect()
    pool = next(iter(OFFLOADING._pools.values()))
    RESULT["pool"].append((pool.taken_bytes, sum(pool._sizes)))
"""
)


def test_each_storage_leaves_once_and_host_memory_is_used_again() -> None:
    found = run(COUNTING, {**WANTED, "buffer_bytes": 200_000}).result
    assert found["handles"] > found["storages"] > 20, "storages that are saved twice are known"
    assert found["on_card"] <= 200_000 < found["bytes"][0], "the rest is on the host alone"
    assert found["weights"] > 0, "weights pass through as they are"
    # After each backward pass all of the host memory is free again, and later steps need no more of it.
    assert all(taken == free for taken, free in found["pool"])
    assert found["pool"][0] == found["pool"][1] == found["pool"][2]


def test_a_tensor_that_is_changed_in_place_is_the_error_it_always_was() -> None:
    script = """
import torch
from torch import nn

class Changing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)

    def forward(self, x):
        y = self.first(x)
        z = y.exp()
        y = z.sin()
        z.mul_(2)
        return y

model = Changing()
try:
    model(torch.randn(64, 64)).sum().backward()
    RESULT = {"error": ""}
except RuntimeError as error:
    RESULT = {"error": str(error)}
"""
    words = "one of the variables needed for gradient computation has been modified by an inplace operation"
    assert words in run(script).result["error"]
    assert words in run(script, WANTED).result["error"]


def test_by_hand_nothing_happens_without_a_card() -> None:
    script = (
        HEAD
        + """
from oomph.remedies.offload_activations import offload_activations
model, x = Model(), torch.randn(16, 32, 8)
with offload_activations(model):
    model(x).sum().backward()
RESULT = {"gradients": gradients(model)}
"""
    )
    assert all(gradient.isfinite().all() for gradient in run(script).result["gradients"])


def test_what_the_loss_saves_waits_on_the_host_too_until_the_backward_pass():
    script = HEAD + """
from torch.multiprocessing.reductions import StorageWeakRef

def has_hooks():
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None

RESULT = {"gone": 0, "hooks": []}
model = Model()
for step in range(2):
    saved_by_loss = model(torch.randn(16, 32, 8)).exp().sin()
    product = saved_by_loss * saved_by_loss
    storage = StorageWeakRef(saved_by_loss.untyped_storage())
    RESULT["hooks"].append(has_hooks())
    del saved_by_loss
    loss = product.mean()
    RESULT["gone"] += storage.expired()
    loss.backward()
    RESULT["hooks"].append(has_hooks())
RESULT["gradients"] = gradients(model)

# Hooks of the script's own around the call end before the loss does: what is outside them is left alone.
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
    out = model(torch.randn(16, 32, 8))
RESULT["own"] = has_hooks()
"""
    plain, moved = run(script), run(script, {**WANTED, "buffer_bytes": 0})
    assert plain.result.pop("hooks") == [False] * 4 and plain.result.pop("gone") == 0
    assert moved.result.pop("hooks") == [True, False, True, False] and moved.result.pop("gone") == 2
    assert difference(plain.result, moved.result) == 0
