"""Recipes that make another model of the user's: fewer weights to train, smaller ones, or fewer of them."""

from __future__ import annotations

import importlib.util

import pytest
import remedied

HEAD = """
import importlib.machinery, sys, types
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 128), nn.Linear(128, 32)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))

class Model(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.first, self.blocks = nn.Linear(8, 32), nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

x, y = torch.randn(64, 8), torch.randint(0, 4, (64,))
model = Model()
whole_bytes = sum(p.numel() * 4 for p in model.parameters())

def package(name, **contents):
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(made).update(contents)
    sys.modules[name] = made
    return made
"""
TRAIN = """
start = {name: value.clone() for name, value in model.state_dict().items()}
losses = []
for _ in range(30):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
end = model.state_dict()
moved = sorted(name for name in end if name in start and not torch.equal(end[name], start[name]))
RESULT = {"losses": losses, "moved": moved, "groups": [len(group["params"]) for group in optimizer.param_groups],
          "state": len(optimizer.state), "bytes": sum(p.numel() * 4 for p in model.parameters())}
"""
#: How optimizers are made: parameters, names, groups.
OPTIMIZERS = {
    "parameters": "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)",
    "names": "optimizer = torch.optim.AdamW(model.named_parameters(), lr=1e-2)",
    "groups": "decayed = [p for p in model.parameters() if p.dim() > 1]\n"
    "other = [p for p in model.parameters() if p.dim() < 2]\n"
    "optimizer = torch.optim.AdamW([{'params': decayed}, {'params': other, 'weight_decay': 0.0}], lr=1e-2)",
}


@pytest.mark.parametrize("how", OPTIMIZERS)
def test_lora_trains_little_and_learns(how: str) -> None:
    pytest.importorskip("peft")
    script = f"{HEAD}\n{OPTIMIZERS[how]}\n{TRAIN}"
    plain = remedied.run(script).result
    tuned = remedied.run(script, {"name": "lora", "rank": 4, "keep_trainable": ["head"]})
    (applied,) = tuned.of("applied")
    assert applied["layers"] == 6 and applied["rank"] == 4
    # Two matrices for each of the six layers, of rank 4, and the head.
    assert applied["trainable_bytes_after"] == 4 * (6 * 4 * (32 + 128) + 32 * 4 + 4)
    assert applied["trainable_bytes_before"] == plain["bytes"]
    assert sum(tuned.result["groups"]) == tuned.result["state"] == 6 * 2 + 2
    assert [name for name in tuned.result["moved"] if "lora" not in name] == ["head.bias", "head.weight"]
    assert sum("lora_" in name for name in tuned.result["moved"]) == 12
    assert tuned.result["losses"][0] == pytest.approx(plain["losses"][0], rel=1e-5), "it starts from the same model"
    assert tuned.result["losses"][-1] < 0.8 * tuned.result["losses"][0]
    if how == "groups":
        assert tuned.result["groups"] == [13, 1]


def test_lora_leaves_alone_what_it_cannot_change() -> None:
    pytest.importorskip("peft")
    script = f"{HEAD}\nmodel = nn.Sequential(nn.Linear(8, 4))\n{OPTIMIZERS['parameters']}\n{TRAIN}"
    plain, left = remedied.run(script), remedied.run(script, {"name": "lora"})
    assert plain.result == left.result
    assert left.of("refused") == ["Sequential is trained in full: no linear layers were found in repeated blocks."]
    script = f"{HEAD}\nsys.modules['peft'] = None\n{OPTIMIZERS['parameters']}\n{TRAIN}"
    left = remedied.run(script, {"name": "lora"})
    assert left.of("refused") == ["Model is trained in full: LoRA needs peft, and it is not installed."]
    assert left.result["losses"] == remedied.run(script).result["losses"]


#: Does what torchao does to a linear layer, in a few lines.
TORCHAO = """
class Int8Linear(nn.Module):
    def __init__(self, layer):
        super().__init__()
        scale = layer.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("values", (layer.weight.detach() / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = layer.bias

    def forward(self, x):
        return F.linear(x, self.values.float() * self.scale, self.bias)

def quantize_(model, config):
    if config == "4 bits":
        raise ImportError("Requires mslk >= 1.0.0")
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))

package("torchao")
package("torchao.quantization", quantize_=quantize_, Int8WeightOnlyConfig=lambda: "8 bits",
        Int4WeightOnlyConfig=lambda: "4 bits")
"""
ANSWER = """
answers = model(x) if TRAINS else None
if not TRAINS:
    model.eval()
    with torch.no_grad():
        answers = model(x)
RESULT = {"answers": answers.detach()}
"""
REAL_TORCHAO = pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao is not installed")


@pytest.mark.parametrize(
    "package", [pytest.param("", marks=REAL_TORCHAO, id="torchao"), pytest.param(TORCHAO, id="own")]
)
def test_quantized_models_answer_nearly_the_same(package: str) -> None:
    script = f"{HEAD}\n{package}\nTRAINS = False\n{ANSWER}"
    plain, small = remedied.run(script), remedied.run(script, {"name": "quantize", "bits": 8})
    assert 0 < remedied.difference(plain.result["answers"], small.result["answers"]) < 0.05
    (applied,) = small.of("applied")
    assert applied["saved_bytes"] == applied["bytes_before"] - applied["bytes_after"]
    assert applied["bytes_after"] < 0.4 * applied["bytes_before"]


def test_quantization_is_refused_in_a_sentence() -> None:
    trained = f"{HEAD}\n{TORCHAO}\nTRAINS = True\n{ANSWER}"
    evaluated = trained.replace("TRAINS = True", "TRAINS = False")
    wanted = {"name": "quantize", "bits": 4}
    cases = {
        trained: "Model stays as it is: it is trained, and weights in 4 bits cannot be.",
        evaluated: "Model stays as it is: torchao says: Requires mslk >= 1.0.0",
        f"{HEAD}\nsys.modules['torchao'] = None\nTRAINS = False\n{ANSWER}": (
            "Model stays as it is: weights in 4 bits need torchao, and it is not installed."
        ),
    }
    for script, why in cases.items():
        left = remedied.run(script, wanted)
        assert left.of("refused") == [why] and not left.of("applied")
        assert remedied.difference(left.result["answers"], remedied.run(script).result["answers"]) == 0.0


#: Takes the hidden channels of blocks with the smallest weights, as Torch-Pruning would.
TORCH_PRUNING = """
class MetaPruner:
    def __init__(self, model, inputs, importance, pruning_ratio, ignored_layers, round_to, output_transform):
        self.model, self.ratio, self.ignored = model, pruning_ratio, ignored_layers
        assert len(inputs if torch.is_tensor(inputs) else inputs[0]) == 2

    def step(self):
        assert self.model.head in self.ignored
        for block in (block for block in self.model.blocks if block.up not in self.ignored):
            count = int(block.up.out_features * (1 - self.ratio))
            best = block.up.weight.norm(dim=1).argsort(descending=True)[:count]
            block.up.weight = nn.Parameter(block.up.weight.detach()[best].clone())
            block.up.bias = nn.Parameter(block.up.bias.detach()[best].clone())
            block.down.weight = nn.Parameter(block.down.weight.detach()[:, best].clone())
            block.up.out_features = block.down.in_features = count

pruner = types.SimpleNamespace(MetaPruner=MetaPruner)
importance = types.SimpleNamespace(GroupMagnitudeImportance=lambda p: None)
package("torch_pruning", pruner=pruner, importance=importance)
"""
REAL_PRUNING = pytest.mark.skipif(
    importlib.util.find_spec("torch_pruning") is None, reason="Torch-Pruning is not installed"
)


@pytest.mark.parametrize("how", OPTIMIZERS)
@pytest.mark.parametrize(
    "package", [pytest.param("", marks=REAL_PRUNING, id="torch_pruning"), pytest.param(TORCH_PRUNING, id="own")]
)
def test_pruned_models_are_smaller_and_train_on(package: str, how: str) -> None:
    train = TRAIN.replace("RESULT =", "assert all(p.grad is None for p in model.parameters())\nRESULT =")
    script = f"{HEAD}\n{package}\n{OPTIMIZERS[how]}\n{train}"
    plain, pruned = remedied.run(script), remedied.run(script, {"name": "prune", "ratio": 0.5})
    (applied,) = pruned.of("applied")
    assert applied["bytes_before"] == plain.result["bytes"]
    assert applied["bytes_after"] == pruned.result["bytes"] < 0.6 * plain.result["bytes"]
    assert pruned.result["state"] == plain.result["state"] and pruned.result["groups"] == plain.result["groups"]
    assert pruned.result["losses"][-1] < 0.5 * pruned.result["losses"][0]
    assert pruned.result["losses"][0] != plain.result["losses"][0]


ATTENTION = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.qkv(x[:, None]).reshape(len(x), 1, 3, 4, 8).permute(2, 0, 3, 1, 4)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(len(x), 32))

model.blocks[1] = Attention()
"""


@REAL_PRUNING
def test_attention_keeps_its_heads_and_loses_the_rest() -> None:
    script = f"{HEAD}\n{ATTENTION}\n{OPTIMIZERS['parameters']}\n{TRAIN}".replace("RESULT = {", """
attention = model.blocks[1]
RESULT = {"qkv": attention.qkv.weight.shape, "up": model.blocks[0].up.weight.shape, """)
    pruned = remedied.run(script, {"name": "prune"})
    assert tuple(pruned.result["qkv"]) == (96, 16) and tuple(pruned.result["up"]) == (64, 16)
    assert pruned.result["losses"][-1] < 0.5 * pruned.result["losses"][0]


def test_what_cannot_be_pruned_stays_as_it_was() -> None:
    optimizer = OPTIMIZERS["parameters"]
    broken = TORCH_PRUNING.replace("self.ratio))", "self.ratio)) + 1").replace("down.in_features = count", "x = 1")
    broken = broken.replace("[:, best]", "[:, best[1:]]")
    slow = TORCH_PRUNING.replace("def step(self):", "def step(self):\n        while True: pass")
    slow += "\nimport oomph.remedies.prune\noomph.remedies.prune._SECONDS = 1\n"
    cases = {
        f"{HEAD}\nsys.modules['torch_pruning'] = None\n{optimizer}\n{TRAIN}": "needs Torch-Pruning",
        f"{HEAD}\n{broken}\n{optimizer}\n{TRAIN}": "with fewer channels it does not compute (RuntimeError",
        f"{HEAD}\n{slow}\n{optimizer}\n{TRAIN}": "Torch-Pruning takes longer than 1 s",
    }
    for script, why in cases.items():
        plain, left = remedied.run(script), remedied.run(script, {"name": "prune"})
        assert plain.result == left.result
        assert len(left.of("refused")) == 1 and why in left.of("refused")[0] and not left.of("applied")


DISTILL = """
sys.path.insert(0, PACKAGE)
import oomph
teacher, student = Model(), nn.Sequential(nn.Linear(8, 4))
teacher.train()
modes = []
def note(module, args, out):
    modes.append((torch.is_inference_mode_enabled(), module.training))
teacher.head.register_forward_hook(note)
distillation = oomph.distill(student, teacher, temperature=3.0, share=SHARE)
loss = distillation(x, targets=y)
loss.backward()
own, others = F.log_softmax(student(x) / 3, dim=1), F.softmax(teacher(x).detach() / 3, dim=1)
soft = (others * (others.log() - own)).sum(1).mean() * 9
plain = SHARE * soft + (1 - SHARE) * F.cross_entropy(student(x), y)
wanted, = torch.autograd.grad(plain, student[0].weight)
grads = [wanted, student[0].weight.grad.clone()]
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
first = distillation(x).item()
for _ in range(50):
    optimizer.zero_grad()
    distillation(x).backward()
    optimizer.step()
RESULT = {"loss": loss.detach(), "plain": plain.detach(), "grads": grads, "modes": modes[0],
          "frozen": all(p.grad is None for p in teacher.parameters()), "first": first, "last": distillation(x).item()}
"""


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_students_learn_from_a_teacher_that_keeps_nothing(share: float) -> None:
    script = f"{HEAD}\nSHARE, PACKAGE = {share}, {str(remedied.ROOT / 'python')!r}\n{DISTILL}"
    found = remedied.run(script).result
    assert remedied.difference(found["plain"], found["loss"]) < 1e-5
    assert remedied.difference(*found["grads"]) < 1e-5
    assert found["modes"] == (True, False) and found["frozen"]
    assert found["last"] < 0.8 * found["first"]
    told = remedied.run(f"{HEAD}\nRESULT = {{}}", {"name": "distill"})
    assert told.of("refused") == ["Only the script knows its teacher: distill is used by hand."]
