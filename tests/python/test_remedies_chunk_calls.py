"""The model called with parts of the batch: the gradients of the plain run, whatever the loss does with the results."""

import textwrap

import pytest
from remedied import difference, run

REMEDY = {"name": "chunk_calls", "parts": 4}

START = """
import dataclasses
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
RESULT, CALLS, KEPT = {}, [], []

def gradients(model):
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found

class Kept:
    def __enter__(self):
        self.tensors = {}
        def pack(tensor):
            self.tensors[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor
        self.hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        self.hooks.__enter__()
    def __exit__(self, *error):
        self.hooks.__exit__(*error)
        KEPT.append(sum(self.tensors.values()))

class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(3)))
    def forward(self, x, scale=None):
        CALLS.append(len(x))
        out = self.layers(x)
        return out if scale is None else out * scale
"""


def both(script: str):
    """The same script without and with the remedy."""
    script = START + textwrap.dedent(script)
    return run(script), run(script, REMEDY)


def test_contrastive_and_other_losses_of_whole_and_partial_batches():
    plain, remedied = both("""
    net = Body()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for count in (16, 16, 6, 3, 1):
        x = torch.randn(count, 16)
        with Kept():
            out = net(x, scale=torch.ones(1, 16))
        z = F.normalize(out, dim=-1)
        loss = F.cross_entropy(z @ z.T * 5, torch.arange(count)) + out.square().mean() + out.sum()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        RESULT[len(RESULT)] = [loss.detach(), gradients(net)]
    RESULT["calls"], RESULT["kept"] = CALLS, KEPT[1]
    """)
    calls = remedied.result.pop("calls")
    plain.result.pop("calls")
    # Trials with two and three, and the same without dropout; then parts, each twice; those of six are two, two, two; of
    # three one each; one is one.
    assert calls == [2, 3, 3, 2, *[4] * 8, *[4] * 8, *[2] * 6, *[1] * 6, 1]
    assert remedied.result.pop("kept") < 0.3 * plain.result.pop("kept")
    assert remedied.of("applied") == [{"module": "Body", "parts": 4}]
    assert not remedied.of("refused") and not remedied.of("note")
    assert difference(plain.result, remedied.result) < 1e-12


def test_results_of_every_form():
    plain, remedied = both("""
    from collections import OrderedDict, namedtuple
    Pair = namedtuple("Pair", "a b")
    @dataclasses.dataclass
    class Out:
        x: torch.Tensor
        more: tuple
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Body()
        def forward(self, batch):
            x = self.body(batch["x"])
            ordered = OrderedDict(y=x * batch["w"])
            return {"out": Out(x, (x * 2, None)), "pair": Pair(x + 1, [x + 2]), "ordered": ordered}
    net = Net()
    out = net({"x": torch.randn(8, 16), "w": torch.rand(8, 1), "name": "a batch"})
    assert type(out["out"]) is Out and type(out["pair"]) is Pair and type(out["ordered"]) is OrderedDict
    assert out["out"].more[1] is None
    tensors = [out["out"].x, out["out"].more[0], out["pair"].a, out["pair"].b[0], out["ordered"]["y"]]
    sum(tensor.square().sum() for tensor in tensors).backward()
    RESULT["all"] = [tensor.detach() for tensor in tensors], gradients(net)
    """)
    assert remedied.of("applied") == [{"module": "Net", "parts": 4}]
    assert difference(plain.result, remedied.result) < 1e-12


def test_a_model_that_returns_its_loss_is_chunked_at_its_body():
    plain, remedied = both("""
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=64, n_positions=32, resid_pdrop=0, embd_pdrop=0)
    config.attn_pdrop = 0
    lm = GPT2LMHeadModel(config).double().train()
    x = torch.randint(0, 64, (8, 12))
    for step in range(2):
        with Kept():
            loss = lm(input_ids=x, labels=x).loss
        loss.backward()
        RESULT[step] = [loss.detach().double(), gradients(lm)]
    RESULT["kept"] = KEPT[1]
    """)
    assert remedied.result.pop("kept") < 0.7 * plain.result.pop("kept")
    assert remedied.of("applied") == [{"module": "transformer", "parts": 4}]
    assert len(remedied.of("refused")) == 1
    assert remedied.of("refused")[0].startswith("GPT2LMHeadModel is called with whole batches: it returns a tensor of")
    assert difference(plain.result, remedied.result) < 1e-6


@pytest.mark.parametrize(
    ("model", "call", "why"),
    [
        ("nn.BatchNorm1d(16)", "net(x)", "the statistics of its batch norms are of the whole batch"),
        ("Counting()", "net(x)", "calling it changes an attribute of the block itself"),
        ("Graph()", "net(x, torch.randint(0, 8, (2, 5)))", "it is called with tensors of 8 and of 2 rows"),
        ("Graph()", "net(x, [x])", "it is called with a list"),
        ("Mean()", "net(x)", "it returns a tensor of shape (16,) for 2 samples"),
    ],
)
def test_what_is_not_per_sample_stays_whole(model, call, why):
    plain, remedied = both(f"""
    class Counting(nn.Linear):
        count = 0
        def forward(self, x):
            self.count += 1
            return super().forward(x) * self.count
    class Graph(nn.Linear):
        def forward(self, x, edges):
            return super().forward(x)
    class Mean(nn.Linear):
        def forward(self, x):
            return super().forward(x).mean(0)
    Counting.__init__ = Graph.__init__ = Mean.__init__ = lambda self: nn.Linear.__init__(self, 16, 16)
    net = {model}
    x = torch.randn(8, 16)
    for step in range(2):
        out = {call}
        out.square().sum().backward()
        RESULT[step] = [out.detach(), gradients(net), {{k: v.clone().double() for k, v in net.state_dict().items()}}]
    """)
    assert remedied.of("refused") == [f"{model.split('(')[0].removeprefix('nn.')} is called with whole batches: {why}"]
    assert not remedied.of("applied")
    assert difference(plain.result, remedied.result) == 0


def test_dropout_is_said_and_evaluation_is_whole():
    _, remedied = both("""
    net = nn.Sequential(Body(), nn.Dropout(0.5))
    net(torch.randn(8, 16)).sum().backward()
    net.eval()(torch.randn(8, 16))
    net.train()
    with torch.no_grad():
        net(torch.randn(8, 16))
    RESULT["calls"] = CALLS
    """)
    assert remedied.result["calls"] == [2, 3, 3, 2, *[2] * 8, 8, 8]
    assert [note[:28] for note in remedied.of("note")] == ["random numbers are drawn for"]


def test_together_with_lazy_logits_no_logits_are_made():
    script = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = Body(), nn.Linear(16, 9000)
        def forward(self, x):
            return self.head(self.body(x))
    net = Net()
    x, y = torch.randn(8, 16), torch.randint(0, 9000, (8,))
    for step in range(2):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        RESULT[step] = [loss.detach(), gradients(net)]
    """
    plain = run(START + textwrap.dedent(script))
    remedied = run(START + textwrap.dedent(script), REMEDY, {"name": "lazy_logits"})
    assert {name for name, kind, _ in remedied.told if kind == "applied"} == {"chunk_calls", "lazy_logits"}
    assert not remedied.of("note")
    assert difference(plain.result, remedied.result) < 1e-12


def test_a_recurrent_network_below_a_batch_norm_is_divided():
    plain, remedied = both("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.norm, self.head = nn.LSTM(16, 64, batch_first=True), nn.BatchNorm1d(64), nn.Linear(64, 4)
        def forward(self, x):
            CALLS.append(len(x))
            out, (hidden, cell) = self.rnn(x)
            return self.head(self.norm(out[:, -1] + hidden[-1] + cell[-1]))
    net = Net()
    x, y = torch.randn(16, 7, 16), torch.randint(0, 4, (16,))
    for step in range(2):
        with Kept():
            out = net(x)
        F.cross_entropy(out, y).backward()
        RESULT[step] = [out.detach(), gradients(net), net.norm.running_mean.clone()]
    RESULT["kept"] = KEPT[1]
    """)
    assert remedied.of("applied") == [{"module": "rnn", "parts": 4}]
    assert remedied.result.pop("kept") < 0.6 * plain.result.pop("kept")
    assert difference(plain.result, remedied.result) < 1e-12


def test_what_the_first_call_makes_once_is_no_obstacle_and_rows_may_be_put_below_one_another():
    plain, remedied = both("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head, self.mask = Body(), nn.Linear(16, 9), None
        def forward(self, x):
            if self.mask is None or len(self.mask) != x.shape[1]:
                self.mask = torch.linspace(0, 1, x.shape[1])[:, None]
            return F.log_softmax(self.head(self.body(x) * self.mask), -1).view(-1, 9)
    net = Net()
    x, y = torch.randn(8, 5, 16), torch.randint(0, 9, (40,))
    for step in range(2):
        out = net(x)
        F.nll_loss(out, y).backward()
        RESULT[step] = [out.detach(), gradients(net)]
    """)
    assert remedied.of("applied") == [{"module": "Net", "parts": 4}] and not remedied.of("refused")
    assert difference(plain.result, remedied.result) < 1e-12


@pytest.mark.parametrize(("layer", "output", "why"), [
    ("nn.LSTM(16, 16)", "self.layer(x)[0]",
     "its rows are steps in time: LSTM has its batch in the second dimension"),
    ("Body()", "(self.layer(x) * self.layer(x).mean(0)).sum(1)",
     "what it returns for a sample depends on the others"),
    ("Body()", "self.layer(x).transpose(0, 1).reshape(-1, 16)",
     "it returns a tensor of shape (10, 16) for 2 samples"),
])
def test_samples_that_are_not_computed_by_themselves_stay_together(layer, output, why):
    plain, remedied = both(f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = {layer}
        def forward(self, x):
            return {output}
    net = Net()
    out = net(torch.randn(8, 5, 16))
    out.square().sum().backward()
    RESULT["all"] = [out.detach(), gradients(net)]
    """)
    assert f"Net is called with whole batches: {why}" in remedied.of("refused")
    assert {"module": "Net", "parts": 4} not in remedied.of("applied")
    assert difference(plain.result, remedied.result) < 1e-12
