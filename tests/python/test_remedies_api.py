"""What a script can import: every function of the remedies' pages; and what each page says to write runs."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys
import textwrap

import forking
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "crates/oomph-plan/src/remedies").glob("*.md"))}
SECTIONS = ["What it changes", "What it costs", "When it steps aside", "By hand"]

#: What stands before and around the snippets of the pages, with a way to see what a forward pass keeps.
BEFORE = """
import sys
sys.path[:0] = [{package!r}, {tests!r}]
import torch
import torch.nn.functional as F
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Model(nn.Module):
    def __init__(self, vocabulary=0):
        super().__init__()
        self.first = nn.Embedding(50, 16) if vocabulary else nn.Linear(16, 16)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(16, vocabulary or 4)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def kept_bytes(make):
    kept = {{}}
    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = make()
    del result
    return sum(kept.values())


model, criterion = Model(), nn.CrossEntropyLoss()
inputs, targets = torch.randn(64, 16), torch.randint(0, 4, (64,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=8)
loss_function, plain_bytes = criterion, kept_bytes(lambda: model(inputs))
plain = model(inputs).detach()
optimizer = torch.optim.AdamW(model.parameters())


def train():
    for part, labels in loader:
        criterion(model(part), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
"""
#: For each page what its snippet needs beside that, and what must hold after it.
AROUND = {
    "autocast": ("inside = []; model.blocks[0].register_forward_hook(lambda m, i, out: inside.append(out.dtype))",
                 "model(inputs); assert inside == [torch.bfloat16]"),
    "bf16_weights": ("", "train(); assert model.head.weight.dtype is torch.bfloat16"),
    # A batch of these has 2 GiB, so that only two are to be kept.
    "bounded_loaders": ("data = [torch.zeros(1).expand(1 << 26)] * 64\n"
                        "loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, prefetch_factor=4)",
                        "assert loader.num_workers * loader.prefetch_factor == 2"),
    "checkpoint_blocks": ("", "assert kept_bytes(lambda: model(inputs)) < plain_bytes / 2\n"
                              "assert torch.equal(model(inputs), plain)"),
    "chunk_calls": ("calls = []; model.first.register_forward_hook(lambda m, i, out: calls.append(len(out)))",
                    "out = model(inputs); assert calls[-4:] == [16] * 4, calls\n"
                    "assert torch.allclose(out, plain, atol=1e-6)"),
    "chunk_evaluation": ("calls = []; model.first.register_forward_hook(lambda m, i, out: calls.append(len(out)))",
                         "with torch.no_grad(): out = model(inputs)\nassert calls[-4:] == [16] * 4, calls\n"
                         "assert torch.allclose(out, plain, atol=1e-6)"),
    "distill": ("teacher, student = Model(), model; before = model.head.weight.detach().clone()",
                "assert not torch.equal(before, model.head.weight) and teacher.head.weight.grad is None"),
    "fsdp": ("import os; os.environ.update(RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT='0')",
             "train(); assert optimizer.state[model.head.weight]['exp_avg'].to_local().shape == (4, 16)\n"
             "assert type(model.state_dict()['head.weight']) is torch.Tensor"),
    "lazy_logits": ("model, tokens = Model(9000), torch.randint(0, 50, (2, 8))\n"
                    "targets = torch.randint(0, 9000, (2, 8))\n"
                    "plain = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())",
                    "assert type(model(tokens)) is not torch.Tensor\n"
                    "assert torch.allclose(loss, plain); loss.backward(); assert model.first.weight.grad is not None"),
    "lean_optimizer": ("", "assert optimizer.param_groups[0]['foreach'] is False; train()"),
    "lora": ("", "train(); assert model.blocks[0].up.base_layer.weight.grad is None\n"
                 "assert len(optimizer.state) == 3 * 2 * 2 + 2"),
    "message_parts": ("from torch_geometric.nn import GCNConv\n"
                      "rows = []\n"
                      "class Layer(GCNConv):\n"
                      "    def message(self, x_j, edge_weight):\n"
                      "        rows.append(len(x_j))\n"
                      "        return super().message(x_j, edge_weight)\n"
                      "class Graph(nn.Module):\n"
                      "    def __init__(self):\n"
                      "        super().__init__()\n"
                      "        self.layer = Layer(16, 8)\n"
                      "    def forward(self, x):\n"
                      "        return self.layer(x, edges)\n"
                      "edges = torch.randint(0, 64, (2, 1000)); model = Graph(); plain = model(inputs).detach()",
                      "assert torch.allclose(model(inputs), plain, atol=1e-6)\n"
                      "assert len(rows) == 1 + 4 and sum(rows[1:]) == rows[0], rows"),
    "micro_batches": ("loader = [(inputs, targets)]; criterion(model(inputs), targets).backward()\n"
                      "whole = model.head.weight.grad.clone(); before = model.head.weight.detach().clone()\n"
                      "optimizer = torch.optim.SGD(model.parameters(), lr=1.0)",
                      "assert len(images) == 16\n"
                      "assert torch.allclose(before - model.head.weight, whole, atol=1e-6)"),
    # There is no card whose memory is short, so these two have nothing to do but must do it right.
    "offload_activations": ("criterion(model(inputs), targets).backward(); whole = model.head.weight.grad.clone()\n"
                            "model.zero_grad()", "assert torch.equal(model.head.weight.grad, whole)"),
    "optimizer_on_host": ("", "train(); assert optimizer.state[model.head.weight]['exp_avg'].device.type == 'cpu'"),
    "outputs_to_host": ("", "kept = [model(inputs) for _ in range(12)]\n"
                            "assert all(torch.equal(out, plain) for out in kept)"),
    "prune": ("from test_remedies_models import HEAD, TORCH_PRUNING\n"
              "import importlib.machinery, types\n"
              "exec('def package' + HEAD.partition('def package')[2] + TORCH_PRUNING)",
              "assert saved_bytes == 4 * 3 * 32 * (16 + 16 + 1)\n"
              "train(); assert model.blocks[2].up.out_features == 32"),
    "quantize": ("from test_remedies_models import HEAD, TORCHAO\nimport importlib.machinery, types\n"
                 "exec('def package' + HEAD.partition('def package')[2] + TORCHAO)",
                 "assert saved_bytes > 0.5 * sum(v.numel() * 4 for v in Model().parameters())\n"
                 "assert torch.allclose(model(inputs), plain, atol=0.1)"),
    "recompute_unused_graphs": ("model.eval()", "model(inputs); out = model(inputs); assert torch.equal(out, plain)\n"
                                "assert kept_bytes(lambda: model(inputs)) < plain_bytes / 2"),
    "small_workspaces": ("", "import os; assert os.environ['CUBLAS_WORKSPACE_CONFIG'] == ':16:8'\n"
                             "assert oomph.small_workspaces(':4096:2') == ':16:8'"),
    "step_in_backward": ("", "before = model.head.weight.detach().clone()\n"
                             "criterion(model(inputs), targets).backward()\n"
                             "assert not torch.equal(before, model.head.weight); optimizer.step()"),
}  # fmt: skip
#: Its snippet needs packages that are not here: `test_remedies_optimizer.py` has a stand-in.
ELSEWHERE = {"quantized_optimizer"}


def _snippets(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.partition("## By hand")[2], re.DOTALL)


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_everything(name: str) -> None:
    page = PAGES[name]
    assert page.startswith(f"# {name}\n")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == SECTIONS
    assert "import oomph" in page.partition("## By hand")[2]


@pytest.mark.parametrize("name", sorted(PAGES.keys() - ELSEWHERE))
def test_what_a_page_says_to_write_runs(name: str) -> None:
    before, after = AROUND[name]
    start = BEFORE.format(package=str(ROOT / "python"), tests=str(ROOT / "tests/python"))
    code = "\n".join([start, before, *_snippets(PAGES[name]), after])
    ended = forking.run_text(code)
    assert ended.code == 0, ended.err


def test_every_function_of_the_pages_is_there_and_described() -> None:
    used = {name for page in PAGES.values() for text in _snippets(page) for name in re.findall(r"oomph\.(\w+)\(", text)}
    code = f"""
        import sys, inspect, typing
        sys.path.insert(0, {str(ROOT / "python")!r})
        import oomph
        assert "torch" not in sys.modules
        assert set(oomph.__all__) <= set(dir(oomph))
        for name in oomph.__all__:
            function = getattr(oomph, name)
            assert inspect.getdoc(function) and function.__name__ == name, name
            assert all(p.annotation is not p.empty for p in inspect.signature(function).parameters.values()), name
        assert "torch" not in sys.modules, "torch is imported by what is called, not by what is imported"
        try:
            oomph.nothing
        except AttributeError as problem:
            print(problem)
        print(sorted(oomph.__all__))
    """
    done = _python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    complaint, names = done.stdout.splitlines()
    assert complaint == "module 'oomph' has no attribute 'nothing'"
    assert used == set(ast.literal_eval(names))


def test_editors_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "python/oomph/__init__.py").read_text())
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = [alias.asname for node in guarded.body for alias in node.names]  # type: ignore[attr-defined]
    (names,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    ]
    assert sorted(imported) == ast.literal_eval(names)


def test_the_wheel_gets_the_package_without_leftovers(tmp_path: pathlib.Path) -> None:
    code = f"""
        import pathlib, sys
        sys.path.insert(0, {str(ROOT / "python/backend")!r})
        import oomph_backend
        oomph_backend.PACKAGE = pathlib.Path({str(tmp_path)!r}) / "oomph"
        oomph_backend.PACKAGE.mkdir()
        (oomph_backend.PACKAGE / "old.py").touch()
        oomph_backend.place_package()
    """
    done = _python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    source = ROOT / "python" / "oomph"
    placed = {path.relative_to(tmp_path / "oomph") for path in tmp_path.rglob("*") if path.is_file()}
    assert placed == {path.relative_to(source) for path in source.rglob("*.py")}
