"""Logits that never exist whole: the losses and gradients of the plain run, and logits for whoever asks."""

import textwrap

import pytest
from remedied import difference, run

# A chunk is a few rows: every loss below takes several.
REMEDY = {"name": "lazy_logits", "row_bytes": 300_000}

START = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
DTYPE = torch.float64
torch.set_default_dtype(DTYPE)
CLASSES = 9000

class Net(nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.embed, self.line = nn.Embedding(CLASSES, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, CLASSES, bias=bias)
        if not bias:
            self.head.weight = self.embed.weight
    def forward(self, x):
        return self.head(torch.tanh(self.line(self.embed(x))))

net = Net()
x, y = torch.randint(0, CLASSES, (3, 5)), torch.randint(0, CLASSES, (3, 5))
y[0, 2] = -100
class_weight, row_weight, mask = torch.rand(CLASSES), torch.rand(3, 5), torch.rand(3, 5) > 0.5
RESULT = {}

def gradients(of=None):
    found = {name: p.grad.clone() for name, p in (of or net).named_parameters() if p.grad is not None}
    (of or net).zero_grad()
    return found
"""


def both(script: str):
    """The same script without and with the remedy."""
    script = START + textwrap.dedent(script)
    return run(script), run(script, REMEDY)


def computed_whole(remedied) -> list[str]:
    """What asked for all logits, without the line."""
    return [note.removeprefix("the logits were computed whole: ").split(" asked")[0] for note in remedied.of("note")]


LOSSES = {
    "flat": "F.cross_entropy(logits.view(-1, CLASSES), y.view(-1))",
    "shifted": "F.cross_entropy(logits[..., :-1, :].contiguous().view(-1, logits.size(-1)), y[..., 1:].reshape(-1))",
    "classes second": "F.cross_entropy(logits.transpose(1, 2), y)",
    "permuted sum": "F.cross_entropy(logits.permute(0, 2, 1), y, reduction='sum')",
    "class weights": "F.cross_entropy(logits.flatten(0, 1), y.flatten(), weight=class_weight)",
    "smoothing": "nn.CrossEntropyLoss(label_smoothing=0.1)(logits.flatten(0, 1), y.flatten())",
    "smoothing and weights": "nn.CrossEntropyLoss(class_weight, label_smoothing=0.1)(logits.mT, y)",
    "none": "F.cross_entropy(logits.mT, y, reduction='none') * row_weight",
    "none with all": "F.cross_entropy(logits.mT, y, class_weight, reduction='none', label_smoothing=0.2) * row_weight",
    "another ignored": "F.cross_entropy(logits.mT, y.clamp(min=0), ignore_index=int(y[1, 1]))",
    "all ignored": "F.cross_entropy(logits.mT, torch.full_like(y, -100)).nan_to_num(1.5)",
    "all ignored, summed": "F.cross_entropy(logits.mT, torch.full_like(y, -100), reduction='sum')",
    "masked": "F.cross_entropy(logits[mask], y.clamp(min=0)[mask])",
    "log softmax": "F.nll_loss(logits.log_softmax(-1).view(-1, CLASSES), y.view(-1), class_weight)",
    "unsqueezed": "F.cross_entropy(logits.unsqueeze(0).squeeze(0).reshape(15, -1), y.view(15))",
    "joined": "F.cross_entropy(torch.cat([logits, net(y.clamp(min=0))]).mT, torch.cat([y, y]))",
}


def test_losses_and_gradients_are_those_of_the_plain_run():
    script = "losses = {\n" + "".join(f"  {name!r}: lambda logits: {loss},\n" for name, loss in LOSSES.items()) + "}\n"
    plain, remedied = both(
        script
        + """
saved = {}
for name, loss_of in losses.items():
    largest = 0
    def pack(tensor):
        global largest
        largest = max(largest, tensor.numel() if tensor.dim() > 1 and tensor.shape != net.head.weight.shape else 0)
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = loss_of(net(x))
    saved[name] = largest
    RESULT[name] = [loss.detach()]
    loss.sum().backward()
    RESULT[name].append(gradients())
RESULT["saved"] = saved
"""
    )
    before, after = plain.result.pop("saved"), remedied.result.pop("saved")
    assert remedied.of("applied") == [{"projection": "head"}]
    assert not remedied.of("note")
    for name in LOSSES:
        assert difference(plain.result[name], remedied.result[name]) < 1e-12, name
        assert before[name] >= 5 * 9000 > after[name], name


def test_twenty_steps_with_tied_weights_clipping_and_a_scaler():
    script = """
    net = Net(bias=False)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu")
    order = torch.arange(3) if not PERMUTED else torch.tensor([2, 0, 1])
    for step in range(20):
        batch, target = torch.randint(0, CLASSES, (3, 5))[order], y[order]
        loss = F.cross_entropy(net(batch).mT, target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
    RESULT = {"weights": dict(net.state_dict())}
    """
    plain, remedied = both("PERMUTED = False\n" + textwrap.dedent(script))
    permuted = run(START + "PERMUTED = True\n" + textwrap.dedent(script))
    assert remedied.of("applied") and not remedied.of("note")
    drift = difference(plain.result, permuted.result)
    assert 0 < difference(plain.result, remedied.result) <= 10 * drift


def test_whoever_asks_for_logits_gets_them_once_and_with_gradients():
    plain, remedied = both("""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits):
            ctx.save_for_backward(logits)
            return logits.square().sum()
        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient
    uses = {
        "square": lambda logits: logits.square().mean(),
        "own": lambda logits: Own.apply(logits),
        "own of a view": lambda logits: Own.apply(logits.transpose(1, 2)),
        "own of log softmax": lambda logits: Own.apply(logits.log_softmax(-1)),
        "mixed": lambda logits: F.cross_entropy(logits.mT, y) + logits.logsumexp(-1).square().mean(),
        "in place": lambda logits: [logits.mul_(2), F.cross_entropy(logits.mT, y)][1],
        "in place through a view": lambda logits: [logits[0].mul_(2), F.cross_entropy(logits.mT, y)][1],
        "soft": lambda logits: F.cross_entropy(logits.view(-1, CLASSES), torch.ones(15, CLASSES) / CLASSES),
        "hook": lambda logits: [logits.register_hook(lambda g: g * 3), F.cross_entropy(logits.mT, y)][1],
    }
    for name, use in uses.items():
        logits = net(x)
        assert isinstance(logits, torch.Tensor) and logits.requires_grad and logits.shape == (3, 5, CLASSES)
        loss = use(logits)
        loss.backward()
        RESULT[name] = [loss.detach(), gradients(), logits.detach(), logits.argmax(-1)]
    logits = net(x)
    copy = logits.clone()
    logits.zero_()
    logits.retain_grad()
    (copy.sum() + logits.sum()).backward()
    RESULT["copied before"] = [copy.detach(), logits.detach(), logits.grad, gradients(), str(logits)[:60] == str(copy)]
    """)
    assert difference(plain.result, remedied.result) < 1e-12
    assert {"square", "mul_", "logsumexp", "cross_entropy", "register_hook"} <= set(computed_whole(remedied))
    assert all("script.py:" in note for note in remedied.of("note"))


def test_logits_read_after_the_step_are_those_before_it():
    plain, remedied = both("""
    optimizer = torch.optim.SGD(net.parameters(), 1.0)
    RESULT["logits"] = []
    for step in range(3):
        logits = net(x)
        loss = F.cross_entropy(logits.mT, y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        RESULT["logits"].append(logits.detach().clone())
    """)
    assert difference(plain.result, remedied.result) < 1e-12
    assert computed_whole(remedied) == ["detach"]


def test_weights_changed_by_hand_are_not_taken_for_the_old_ones():
    _, remedied = both("""
    logits = net(x)
    with torch.no_grad():
        net.head.weight.mul_(2)
    try:
        RESULT["read"] = float(logits.detach().sum())
    except RuntimeError as error:
        RESULT["read"] = str(error)
    """)
    assert "was changed in place" in remedied.result["read"]


def test_backward_twice_autograd_grad_and_second_derivatives():
    plain, remedied = both("""
    loss = F.cross_entropy(net(x).mT, y, class_weight)
    loss.backward(retain_graph=True)
    loss.backward()
    RESULT["twice"] = gradients()
    parameters = list(net.parameters())
    RESULT["grad"] = torch.autograd.grad(F.cross_entropy(net(x).mT, y), parameters)
    first = torch.autograd.grad(F.cross_entropy(net(x).mT, y), parameters, create_graph=True)
    sum(g.square().sum() for g in first).backward()
    RESULT["second"] = gradients()
    net.head.requires_grad_(False)
    F.cross_entropy(net(x).mT, y).backward()
    RESULT["frozen"] = gradients()
    """)
    assert remedied.of("applied") and not remedied.of("note")
    assert difference(plain.result, remedied.result) < 1e-12


def test_evaluation_with_a_graph_and_func_are_plain():
    _, remedied = both("""
    net(x)
    RESULT["kinds"] = [type(net.eval()(x)).__name__]
    net.train()
    weights = {name: p.detach() for name, p in net.named_parameters()}
    loss = lambda w: F.cross_entropy(torch.func.functional_call(net, w, (x,)).mT, y)
    RESULT["func"] = list(torch.func.grad(loss)(weights))
    RESULT["scripted"] = torch.jit.script(nn.Linear(16, 4))(torch.ones(1, 16)).tolist()
    RESULT["kinds"].append(type(net(x)).__name__)
    """)
    assert remedied.result["kinds"] == ["Tensor", "LazyLogits"]


@pytest.mark.parametrize("without", ["torch.no_grad", "torch.inference_mode"])
def test_losses_without_a_graph_are_those_of_the_plain_run(without: str):
    losses = "".join(f"  {name!r}: lambda logits: {loss},\n" for name, loss in LOSSES.items())
    plain, remedied = both(
        f"losses = {{\n{losses}}}\nWITHOUT = {without}\n"
        + textwrap.dedent("""
        for mode in (net.train, net.eval):
            mode()
            for name, loss_of in losses.items():
                with WITHOUT():
                    loss = loss_of(net(x))
                assert not loss.requires_grad and type(loss) is torch.Tensor
                RESULT[mode.__name__, name] = loss.clone() + 0
        # Afterwards the model trains as ever.
        net.train()
        F.cross_entropy(net(x).mT, y).backward()
        RESULT["gradients"] = gradients()
        """)
    )
    assert remedied.of("applied") and not remedied.of("note"), "no loss asked for the logits"
    assert difference(plain.result, remedied.result) < 1e-12


def test_logits_without_a_graph_have_none_wherever_they_are_used():
    plain, remedied = both("""
    with torch.no_grad():
        logits = net(x)
    loss = F.cross_entropy(logits.mT, y)
    RESULT["has graph"] = [loss.requires_grad, logits.requires_grad, logits.is_leaf]
    RESULT["values"] = [loss, logits.argmax(-1), logits.softmax(-1).sum()]
    RESULT["has graph"].append((logits * 2).requires_grad)
    """)
    assert remedied.result == {**remedied.result, "has graph": [False, False, True, False]}
    assert difference(plain.result, remedied.result) < 1e-12


def test_evaluations_whose_logits_are_asked_for_are_plain_from_then_on():
    _, remedied = both("""
    RESULT["kinds"] = []
    with torch.no_grad():
        for _ in range(3):
            logits = net(x)
            RESULT["kinds"].append(type(logits).__name__)
            logits.argmax(-1)
        RESULT["kinds"].append(type(net(x[:1, :1])).__name__)
    RESULT["kinds"].append(type(net(x)).__name__)
    """)
    assert remedied.result["kinds"] == ["LazyLogits", "Tensor", "Tensor", "Tensor", "LazyLogits"]


def test_few_logits_without_a_graph_are_computed_at_once():
    _, remedied = both("""
    with torch.no_grad():
        RESULT["kinds"] = [type(net(x[:1, :1])).__name__, type(net(x)).__name__]
    """)
    assert remedied.result["kinds"] == ["Tensor", "LazyLogits"]


def test_a_compiled_model_stays_as_it_is():
    plain, remedied = both("""
    compiled = torch.compile(net, backend="aot_eager")
    F.cross_entropy(compiled(x).mT, y).backward()
    RESULT["gradients"] = gradients()
    """)
    assert difference(plain.result, remedied.result) < 1e-12
    assert not remedied.of("applied")
    assert remedied.of("refused") == ["Net is compiled: its logits are computed as the compiler sees fit"]


@pytest.mark.parametrize("weights", ["float32", "float16"])
def test_halves_have_the_dtypes_of_the_plain_run_and_sums_no_worse(weights):
    plain, remedied = both(f"""
    weights = torch.{weights}
    torch.set_default_dtype(torch.float32)
    def once(dtype):
        half = Net().to(dtype)
        half.load_state_dict({{name: value.to(dtype) for name, value in net.state_dict().items()}})
        with torch.autocast("cpu", torch.float16, enabled=weights == dtype == torch.float32):
            logits = half(x)
            loss = F.cross_entropy(logits.mT, y)
            upcast = F.cross_entropy(logits.float().mT, y)
        (loss + upcast).backward()
        kinds = [str(value.dtype) for value in (logits, loss, upcast)]
        return kinds, [loss.detach().double(), {{k: v.double() for k, v in gradients(half).items()}}]
    KINDS, RESULT["values"] = once(weights)
    RESULT["kinds"] = KINDS
    RESULT["exact"] = once(torch.float64)[1]
    """)
    assert remedied.of("applied") and not remedied.of("note")
    assert plain.result["kinds"] == remedied.result["kinds"]
    exact = plain.result["exact"]
    assert difference(exact, remedied.result["values"]) <= 1.5 * difference(exact, plain.result["values"])


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_transformers_language_models(family):
    plain, remedied = both(f"""
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
    if "{family}" == "gpt2":
        lm = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=CLASSES, n_positions=32))
    else:
        lm = LlamaForCausalLM(LlamaConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=CLASSES))
    lm = lm.double().train()
    for labels in (x, y):
        out = lm(input_ids=x, labels=labels)
        out.loss.backward()
        RESULT[len(RESULT)] = [out.loss.detach(), gradients(lm)]
    out = lm(input_ids=x, labels=x, num_items_in_batch=torch.tensor(7))
    out.loss.backward()
    RESULT["items"] = gradients(lm)
    """)
    assert remedied.of("applied") == [{"projection": "lm_head"}]
    assert not remedied.of("note")
    # transformers computes its loss in float32, whatever the logits are.
    assert difference(plain.result, remedied.result) < 1e-6


@pytest.mark.parametrize("finds_unused", [False, True])
def test_distributed_data_parallel(finds_unused):
    plain, remedied = both(f"""
    import tempfile
    torch.distributed.init_process_group("gloo", init_method=f"file://{{tempfile.mktemp()}}", rank=0, world_size=1)
    parallel = nn.parallel.DistributedDataParallel(net, find_unused_parameters={finds_unused})
    for step in range(3):
        loss = F.cross_entropy(parallel(x).mT, y)
        loss.backward()
        RESULT[step] = [loss.detach(), gradients()]
    """)
    assert remedied.of("applied") == [{"projection": "head"}]
    # Its search for unused parameters copies what the model returns.
    assert bool(remedied.of("note")) == finds_unused
    assert difference(plain.result, remedied.result) < 1e-12


def test_models_without_a_vocabulary_say_so():
    _, remedied = both("""
    nn.Linear(4, 4)(torch.randn(2, 4)).sum().backward()
    """)
    assert remedied.of("refused") == ["Linear has no projection to a vocabulary"]
