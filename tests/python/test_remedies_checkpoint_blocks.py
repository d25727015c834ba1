"""Blocks that are recomputed: the numbers of the plain run, with less kept; and which blocks are left alone."""

import textwrap

import pytest
from remedied import difference, run

REMEDY = {"name": "checkpoint_blocks"}

# Counts what autograd keeps, by storage, without parameters; checkpoint's own hooks keep nothing from these.
START = """
import copy, random, sys
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
random.seed(0)
torch.set_default_dtype(torch.float64)

class Kept:
    def __init__(self, model):
        self.known = {p.untyped_storage().data_ptr() for p in model.parameters()}
        self.bytes, self.tensors = 0, {}
    def __enter__(self):
        def pack(tensor):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in self.known:
                self.tensors[storage.data_ptr()] = storage.nbytes()
            return tensor
        self.hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        self.hooks.__enter__()
        return self
    def __exit__(self, *error):
        self.hooks.__exit__(*error)
        self.bytes = sum(self.tensors.values())

def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
"""

GPT = """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.3)
    def forward(self, x, *, scale=None):
        out = x + self.drop(self.down(F.gelu(self.up(self.norm(x))))) * scale
        return (out, random.random() * out.mean())
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.blocks = nn.ModuleList(Block(16) for _ in range(4))
        self.head = nn.Linear(16, 50)
    def forward(self, x):
        x, aside, scale = self.embed(x), 0.0, torch.ones(16)
        for block in [*self.blocks, self.blocks[0]]:
            x, more = block(x, scale=scale)
            aside = aside + more
        return self.head(x), aside
net = Net()
x = torch.randint(0, 50, (4, 12))
"""

TRAIN = """
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
losses = []
for step in range(20):
    with Kept(net) as kept:
        out, aside = net(x)
        loss = F.cross_entropy(out.flatten(0, 1), x.flatten()) + aside
    optimizer.zero_grad()
    loss.backward()
    losses.append(loss.detach())
    optimizer.step()
RESULT = {"losses": losses, "weights": dict(net.state_dict()), "random": random.random(), "drawn": torch.rand(3)}
RESULT["kept"] = kept.bytes
"""


def both(script: str, **options):
    """The same script without and with the remedy."""
    script = START + textwrap.dedent(script)
    plain, remedied = run(script), run(script, {**REMEDY, **options})
    return plain, remedied


def test_dropout_keywords_tuples_and_a_block_used_twice_are_bitwise_equal():
    plain, remedied = both(GPT + TRAIN)
    assert [fact["block"] for fact in remedied.of("applied")] == [f"blocks.{index}" for index in range(4)]
    assert all(fact["saved_bytes"] > 0 for fact in remedied.of("applied"))
    assert not remedied.of("refused")
    assert remedied.result.pop("kept") < 0.5 * plain.result.pop("kept")
    assert difference(plain.result, remedied.result) == 0


def test_only_the_blocks_asked_for():
    plain, remedied = both(GPT + TRAIN, blocks=["blocks.1", "blocks.2"])
    assert [fact["block"] for fact in remedied.of("applied")] == ["blocks.1", "blocks.2"]
    assert remedied.result.pop("kept") < plain.result.pop("kept")
    assert difference(plain.result, remedied.result) == 0


def test_batch_norms_count_every_batch_once():
    plain, remedied = both("""
    def part(): return nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    net = nn.Sequential(nn.Conv2d(3, 4, 3), part(), part(), part())
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(5):
        with Kept(net) as kept:
            loss = net(torch.randn(4, 3, 8, 8)).square().mean()
        optimizer.zero_grad(); loss.backward(retain_graph=True); loss.backward(); optimizer.step()
    RESULT = {"state": {k: v.double() for k, v in net.state_dict().items()}, "kept": kept.bytes}
    """)
    assert len(remedied.of("applied")) == 3
    assert remedied.result.pop("kept") < 0.7 * plain.result.pop("kept")
    assert difference(plain.result, remedied.result) == 0
    assert plain.result["state"]["1.1.num_batches_tracked"] == 5


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("self.count += 1", "an attribute of the block itself"),
        ("self.seen.add_(1)", "a buffer of the block itself"),
        ("self.kept.append(float(x.mean()))", "an attribute of the block itself"),
        ("x.add_(1)", "one of its arguments"),
        ("cache['x'] = x", "one of its arguments"),
    ],
)
def test_a_block_that_changes_something_is_left_alone(body, what):
    plain, remedied = both(f"""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(8, 8)
            self.count, self.kept = 0, []
            self.register_buffer("seen", torch.zeros(()))
        def forward(self, x, cache):
            {body}
            return torch.tanh(self.line(x)).sin()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(2))
        def forward(self, x):
            x, self.cache = x * 2, {{}}
            for block in self.blocks:
                x = block(x, self.cache)
            return x
    net = Net()
    for step in range(3):
        net(torch.randn(4, 8)).sum().backward()
    state = [[block.count, block.seen.clone(), list(block.kept)] for block in net.blocks]
    RESULT = {{"gradients": gradients(net), "state": state, "cache": [v.detach() for v in net.cache.values()]}}
    """)
    assert difference(plain.result, remedied.result) == 0
    assert not remedied.of("applied")
    assert remedied.of("refused") == [
        f"block blocks.{index} stays as it is: calling it changes {what}" for index in range(2)
    ]


def test_blocks_that_the_script_recomputes_are_left_alone():
    plain, remedied = both(
        GPT.replace("= block(x, scale=scale)", "= checkpoint(block, x, scale=scale, use_reentrant=False)")
        + "from torch.utils.checkpoint import checkpoint"
        + TRAIN
    )
    assert not remedied.of("applied")
    assert remedied.of("refused")[0] == "block blocks.0 stays as it is: the script recomputes it already"
    assert difference(plain.result, remedied.result) < 1e-12


def test_evaluation_copies_pickles_second_derivatives_and_func():
    plain, remedied = both(
        GPT
        + """
net.eval()
out, _ = net(x)
grads = torch.autograd.grad(out.square().mean(), list(net.parameters()), create_graph=True)
sum(g.square().sum() for g in grads).backward()
RESULT = {"second": gradients(net)}
twin = copy.deepcopy(net)
with torch.no_grad():
    for p in net.parameters(): p.zero_()
random.seed(1)
RESULT["twin"] = twin(x)[0].detach()
import io
file = io.BytesIO(); torch.save(twin, file); file.seek(0)
RESULT["loaded"] = torch.load(file, weights_only=False)(x)[0].detach()
weights = {name: p.detach() for name, p in twin.named_parameters()}
RESULT["func"] = torch.func.grad(lambda w: torch.func.functional_call(twin, w, (x,))[0].square().mean())(weights)
"""
    )
    assert len(remedied.of("applied")) >= 4
    assert difference(plain.result, remedied.result) < 1e-12


def test_compiled_models():
    plain, remedied = both("""
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        def forward(self, x):
            return x + self.down(torch.sin(F.gelu(self.up(x)).cos()))
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block(16) for _ in range(4))
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    net = Net()
    compiled = torch.compile(net, backend="aot_eager")
    x = torch.randn(32, 16)
    with Kept(net) as kept:
        out = compiled(x)
    RESULT = {"out": out.detach(), "kept": kept.bytes}
    out.square().mean().backward()
    RESULT["gradients"] = gradients(net)
    """)
    plain_kept, kept = plain.result.pop("kept"), remedied.result.pop("kept")
    assert difference(plain.result, remedied.result) < 1e-12
    assert kept < 0.5 * plain_kept


def test_distributed_data_parallel():
    plain, remedied = both(
        GPT
        + """
import os, tempfile
torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
inner, net = net, nn.parallel.DistributedDataParallel(net)
"""
        + TRAIN
    )
    assert len(remedied.of("applied")) == 4
    assert remedied.result.pop("kept") < 0.5 * plain.result.pop("kept")
    assert difference(plain.result, remedied.result) == 0


@pytest.mark.parametrize("blocks", [None, ["transformer.h.1"]])
def test_transformers_models_recompute_their_own_layers(blocks):
    plain, remedied = both(
        """
    from transformers import GPT2Config, GPT2LMHeadModel
    net = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=16, n_head=2, vocab_size=64, n_positions=32)).double()
    net.train()
    x = torch.randint(0, 64, (2, 16))
    for step in range(2):
        with Kept(net) as kept:
            loss = net(input_ids=x, labels=x).loss
        loss.backward()
    RESULT = {"gradients": gradients(net), "kept": kept.bytes}
    """,
        blocks=blocks,
    )
    wanted = blocks or [f"transformer.h.{index}" for index in range(3)]
    assert [fact["block"] for fact in remedied.of("applied")] == wanted
    assert all(fact["saved_bytes"] > 0 for fact in remedied.of("applied"))
    assert remedied.result.pop("kept") < plain.result.pop("kept")
    # Without a key-value cache, transformers takes another way through attention.
    assert difference(plain.result, remedied.result) < 1e-12


def test_parts_that_have_names_instead_of_places_in_a_list():
    script = START + """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)
    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)).tanh())
class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList(Part() for _ in range(2))
    def forward(self, x):
        for part in self.inner:
            x = part(x)
        return x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Part(), Part()
        self.stage1, self.stage2 = Stage(), Stage()
        self.left, self.right = nn.Sequential(nn.Linear(16, 16)), nn.Sequential(nn.Linear(16, 16))
    def forward(self, x):
        x = self.stage2(self.stage1(self.second(self.first(x))))
        return self.left(x) + self.right(x)
model = Net()
with Kept(model) as kept:
    loss = model(torch.randn(32, 16)).square().mean()
loss.backward()
RESULT = {"grads": gradients(model), "kept": kept.bytes}
"""
    plain, remedied = run(script), run(script, REMEDY)
    assert difference(plain.result["grads"], remedied.result["grads"]) == 0.0
    assert remedied.result["kept"] < plain.result["kept"] / 2
    recomputed = {facts["block"] for facts in remedied.of("applied")}
    assert recomputed == {"first", "second", *(f"stage{at}.inner.{part}" for at in (1, 2) for part in (0, 1))}


def test_a_model_without_blocks_says_so():
    _, remedied = both("""
    net = nn.Linear(4, 4)
    net(torch.randn(2, 4)).sum().backward()
    RESULT = {}
    """)
    assert remedied.of("refused") == ["Linear has no blocks that come several times in a row"]


SEQUENCES = """
def layers(*widths, norm=False):
    made = [nn.Flatten(1)]
    for narrow, wide in zip(widths, widths[1:]):
        made += [nn.Linear(narrow, wide), *([nn.BatchNorm1d(wide)] if norm else []), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*made, nn.Dropout(0.2), nn.Linear(widths[-1], 8))
class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = layers(8, 16, 32, 64, norm=True)
    def forward(self, x):
        return self.main(x).tanh()
maker, judge = Maker(), layers(8, 32, 32, 16)
"""


def test_a_plain_sequence_is_recomputed_in_runs_of_layers():
    plain, remedied = both(SEQUENCES + textwrap.dedent("""
    optimizers = [torch.optim.Adam(one.parameters(), 1e-2) for one in (maker, judge)]
    for step in range(5):
        real, noise = torch.randn(32, 2, 4), torch.randn(32, 8)
        with Kept(nn.ModuleList([maker, judge])) as kept:
            fake = maker(noise)
            between = (real.flatten(1) + fake.detach()).requires_grad_()
            (slope,) = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
            loss = judge(fake).mean() - judge(real).mean() + (slope.norm(2, dim=1) - 1).square().mean()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    RESULT = {"maker": dict(maker.state_dict()), "judge": dict(judge.state_dict()), "drawn": torch.rand(3)}
    RESULT["kept"] = kept.bytes
    """))
    assert remedied.result.pop("kept") < plain.result.pop("kept") * 0.7
    assert difference(plain.result, remedied.result) == 0.0
    assert {facts["block"] for facts in remedied.of("applied")} == {"main.1:7", "main.7:12", "1:5", "5:9"}
    assert not remedied.of("refused")


def test_a_sequence_that_has_changed_since_is_called_as_it_is():
    plain, remedied = both(SEQUENCES + textwrap.dedent("""
    x = torch.randn(32, 8)
    maker(x).sum().backward()
    maker.main.append(nn.Linear(8, 8))
    maker(x).sum().backward()
    RESULT = {"grads": gradients(maker)}
    """))
    assert difference(plain.result, remedied.result) == 0.0
