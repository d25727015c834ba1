"""Inference without `no_grad`, and outputs that the script keeps."""

import textwrap

from remedied import difference, run

REMEDY = {"name": "recompute_unused_graphs"}

START = """
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
RESULT, CALLS, WAY = {}, [], []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3))
        self.head = nn.Linear(8, 4)
    def forward(self, x):
        CALLS.append(torch.is_grad_enabled())
        for layer in self.layers:
            x = layer(x)
            WAY.append((StorageWeakRef(x.untyped_storage()), x.untyped_storage().nbytes()))
        return self.head(x.mean((2, 3)))

def kept_bytes(function):
    #Of what the forward pass computed on the way, the bytes that something keeps alive.
    WAY.clear()
    out = function()
    return out, sum(size for storage, size in WAY if not storage.expired())

def gradients(model):
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found

net = Net()
state = lambda: {name: value.clone().double() for name, value in net.state_dict().items()}
"""


def both(script: str, remedy=REMEDY):
    """The same script without and with the remedy."""
    script = START + textwrap.dedent(script)
    return run(script), run(script, remedy)


def test_outputs_that_are_kept_hold_their_inputs_alone():
    plain, remedied = both("""
    outs, KEPT = [], 0
    for step in range(20):
        x = torch.randn(1, 3, 12, 12)
        out, kept = kept_bytes(lambda: net(x))
        outs.append(out)
        KEPT += kept
    RESULT.update(outs=[out.detach() for out in outs], kept=KEPT, state=state(), drawn=torch.rand(3))
    assert all(out.requires_grad for out in outs)
    """)
    assert remedied.of("applied") == [{"model": "Net"}]
    assert remedied.result.pop("kept") == 0 < plain.result.pop("kept")
    assert difference(plain.result, remedied.result) == 0


def test_a_backward_pass_after_all_is_right_and_ends_it():
    plain, remedied = both("""
    net.eval()
    for step in range(3):
        x = torch.randn(2, 3, 12, 12)
        before = len(CALLS)
        out, kept = kept_bytes(lambda: net(x))
        out.square().sum().backward()
        RESULT[step] = [out.detach(), gradients(net), state()]
        RESULT[f"calls{step}"] = len(CALLS) - before
    """)
    # A trial, the call and its recomputation; then plain calls.
    assert [remedied.result.pop(f"calls{step}") for step in range(3)] == [3, 1, 1]
    assert [plain.result.pop(f"calls{step}") for step in range(3)] == [1, 1, 1]
    assert remedied.of("applied") == [{"model": "Net"}]
    assert remedied.of("refused") == ["the graphs of Net are used after all: its calls are plain from now on"]
    assert difference(plain.result, remedied.result) == 0


def test_training_is_left_alone_and_its_evaluation_is_not():
    plain, remedied = both("""
    teacher = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(12):
        x = torch.randn(2, 3, 12, 12)
        before = len(CALLS)
        out, kept = kept_bytes(lambda: net(x))
        RESULT.setdefault("trained", []).append(kept)
        out.square().sum().backward(); optimizer.step(); optimizer.zero_grad()
        out, kept = kept_bytes(lambda: teacher(x))
        RESULT.setdefault("unused", []).append(kept)
    out, RESULT["evaluated"] = kept_bytes(lambda: net.eval()(x))
    RESULT["state"] = state()
    """)
    assert remedied.result.pop("evaluated") == 0 < plain.result.pop("evaluated")
    unused = remedied.result.pop("unused")
    assert unused[7] > 0 and unused[8:] == [0] * 4
    assert plain.result.pop("unused")[8:] > [0] * 4
    assert remedied.of("applied") == [{"model": "Net"}]
    assert not remedied.of("refused")
    assert difference(plain.result, remedied.result) == 0


def test_a_model_that_counts_its_calls_is_left_alone():
    plain, remedied = both("""
    class Counting(Net):
        count = 0
        def forward(self, x):
            self.count += 1
            return super().forward(x) * self.count
    net = Counting()
    RESULT["outs"] = [net(torch.randn(1, 3, 12, 12)).detach() for step in range(3)]
    """)
    assert difference(plain.result, remedied.result) == 0
    assert remedied.of("refused") == [
        "the graphs of Counting are kept: calling it changes an attribute of the block itself"
    ]


def test_kept_outputs_leave_the_card_and_come_back_when_used():
    plain, remedied = both(
        """
    import copy, io, weakref
    net.eval()
    outs, views = [], []
    for step in range(30):
        out = net(torch.randn(2, 3, 12, 12))
        outs.append(out)
        if step % 3 == 0:
            views.append(out[0])
    stored = lambda: sum(out.storage_bytes for out in looked)
    class Looked:
        def __init__(self, out):
            with torch._C.DisableTorchFunctionSubclass():
                self.storage_bytes = torch.Tensor.untyped_storage(out).nbytes()
    looked = [Looked(out) for out in outs]
    RESULT["stored"] = stored()
    about = lambda out: [*out.shape, len(out), str(out.device), out.requires_grad]
    RESULT["about"] = [about(out) == [2, 4, 2, "cpu", True] for out in outs]
    ids = [id(out) for out in outs]
    RESULT["stack"] = torch.stack(outs[:5]).detach()
    RESULT["numpy"] = [torch.from_numpy(out.detach().numpy()).clone() for out in outs[5:8]]
    file = io.BytesIO(); torch.save(outs[8].detach(), file); file.seek(0)
    RESULT["saved"] = torch.load(file)
    outs[9].mul_(2)
    outs[10].sum().backward()
    RESULT["gradients"] = gradients(net)
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3
        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3
    Own.apply(outs[11]).sum().backward()
    RESULT["own"] = gradients(net)
    RESULT["all"] = [out.detach() for out in outs]
    RESULT["views"] = [view.detach() for view in views]
    assert ids == [id(out) for out in outs] and all(type(out) is torch.Tensor for out in outs)
    """,
        {"name": "outputs_to_host", "device_types": ["cpu"]},
    )
    assert remedied.of("applied") == [{"model": "Net"}]
    # Eight are too young, and of the others every third has a view.
    assert plain.result.pop("stored") == 30 * 64 and remedied.result.pop("stored") == (8 + 8) * 64
    assert all(remedied.result.pop("about")) and plain.result.pop("about")
    assert difference(plain.result, remedied.result) == 0
