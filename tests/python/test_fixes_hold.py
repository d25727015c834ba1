"""Fixes never hurt: programs are run before and after them, on the CPU, and must print the same and end the same way.

Two kinds of programs: all of `corpus/check` that `--fix` changes, which mostly end early for want of data or a GPU, and
programs put together here, which run to their end: each has something that a rule mends, and reads, yields or names it in
a way that a careless fix would break.
"""

from __future__ import annotations

import ast
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

# Runs the programs named on stdin, each in a process of its own; torch is imported once.
DRIVER = """
import json, os, runpy, signal, sys, tempfile
import numpy, torch, torch.utils.data, torch.nn.functional
torch.set_num_threads(1)
# What torch imports when it is first used is imported here, once for all.
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.amp.autocast("cuda", enabled=False), torch.cuda.amp.autocast(False):
    model(torch.zeros(1, 2)).sum().backward()
optimizer.step()
results = {}
for path in json.load(sys.stdin):
    out = tempfile.TemporaryFile()
    end = tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(10)
        os.chdir(os.path.dirname(path))
        sys.path.insert(0, os.path.dirname(path))
        sys.argv = [path]
        how = "ended"
        try:
            torch.manual_seed(0)
            runpy.run_path(path, run_name="__main__")
        except BaseException as error:
            how = f"{type(error).__name__}: {error}".replace(path, "PROGRAM")
        sys.stdout.flush()
        os.write(end.fileno(), how.encode())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    out.seek(0), end.seek(0)
    results[path] = [out.read().decode(), end.read().decode() or f"status {status}"]
json.dump(results, sys.stdout)
"""

SETUP = """\
import asyncio
import itertools
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
loader = [(torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])) for _ in range(3)]
torch.save({"model": model.state_dict(), "epoch": 7}, "saved.pt")
"""

CHECKPOINT = """
def train(path):
    ckpt = torch.load(path, map_location="cuda" if torch.cuda.is_available() else "cpu")
    model.load_state_dict(ckpt["model"])
{reader}
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(float(loss))
    return show()


print(train("saved.pt"))
"""

READERS = {
    "plain": "    def show():\n        return 7",
    "lambda": "    show = lambda: ckpt['epoch']",
    "closure": "    def show():\n        return ckpt['epoch']",
    "default": "    def show(ckpt=ckpt):\n        return ckpt['epoch']",
    "generator": "    keys = (key for key in ckpt)\n    show = lambda: sorted(keys)",
    "class": "    class Show:\n        def __call__(self):\n            return ckpt['epoch']\n    show = Show()",
    "eval": "    def show(ckpt=ckpt):\n        return eval('ckpt')['epoch']",
    "locals": "    show = (lambda names: lambda: names['ckpt']['epoch'])(locals())",
    "match": "    match path:\n        case str():\n            show = lambda: f\"{ckpt['epoch']}\"",
    "async": "    async def later():\n        return ckpt['epoch']\n    show = lambda: asyncio.run(later())",
    "nested": "    def show():\n        def inner():\n            nonlocal ckpt\n            return ckpt['epoch']\n        return inner()",
}

EVALUATION = """
{define} evaluate():
    model.eval()
    correct = 0
    for x, y in loader:
        out = model(x)
        correct += (out.argmax(1) == y).sum().item()
{inner}
    print(correct)


{consumer}
"""

SUSPENSIONS = {
    "plain": ("def", "", "evaluate()"),
    "yield": (
        "def",
        "        yield out",
        "for out in evaluate():\n    (model(loader[0][0]).sum()).backward()\n    print(torch.is_grad_enabled())",
    ),
    "branch": (
        "def",
        "        if correct >= 0:\n            yield out",
        "for out in evaluate():\n    print(torch.is_grad_enabled(), model(loader[0][0]).requires_grad)",
    ),
    "await": (
        "async def",
        "        await asyncio.sleep(0)",
        "async def other():\n    for _ in range(9):\n        print(model(loader[0][0]).requires_grad)\n"
        "        await asyncio.sleep(0)\n\n\nasync def both():\n    await asyncio.gather(evaluate(), other())\n\n\n"
        "asyncio.run(both())",
    ),
}

AMP = """
{imports}

def step(x, amp):
    with {call}({argument}):
        return model(x)


print(step(loader[0][0], False).sum().item(), step.__name__)
"""

AMP_NAMES = {
    "imported": ("from torch.cuda.amp import autocast", "autocast"),
    "alias": ("from torch.cuda.amp import autocast as cast", "cast"),
    "module": ("from torch.cuda import amp as mixed", "mixed.autocast"),
    "dotted": ("import torch.cuda.amp as mixed", "mixed.autocast"),
    "torch": ("import torch as t", "t.cuda.amp.autocast"),
}

CYCLE = """
batches = itertools.cycle(iter(torch.utils.data.DataLoader(list(range(4)), batch_size=2)))
print([next(batches).tolist() for _ in range(5)])
"""


def programs() -> dict[str, str]:
    """Programs that run to their end, by name."""
    made = {f"checkpoint_{name}": CHECKPOINT.format(reader=reader) for name, reader in READERS.items()}
    for name, (define, inner, consumer) in SUSPENSIONS.items():
        made[f"evaluation_{name}"] = EVALUATION.format(define=define, inner=inner, consumer=consumer)
    for name, (imports, call) in AMP_NAMES.items():
        for argument in ("amp", "enabled=amp", "amp, dtype=torch.float16"):
            text = AMP.format(imports=imports, call=call, argument=argument)
            made[f"amp_{name}_{argument[:3].strip(', ')}_{len(argument)}"] = text
    made["cycle"] = CYCLE
    return {name: SETUP + text for name, text in made.items()}


def run(paths: list[pathlib.Path]) -> dict[str, tuple[str, str]]:
    """What each program prints, and how it ends."""
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER],
        input=json.dumps([str(path) for path in paths]),
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return {path: (out, end) for path, (out, end) in json.loads(done.stdout).items()}


def needs_only_torch(text: str) -> bool:
    """Whether a program imports nothing but torch, numpy and small modules of Python's own: others take seconds each."""
    allowed = {"torch", "numpy", "os", "sys", "math", "random", "copy", "gc", "itertools", "collections", "contextlib"}
    tree = ast.parse(text)
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names} <= allowed


def mend(oomph, folder: pathlib.Path, *options: str) -> None:
    """Makes the fixes; a second run must change nothing, and every file must still compile."""
    oomph("check", folder, "--isolated", "--select", "all", "--fix", *options)
    files = sorted(folder.rglob("*.py"))
    once = {file: file.read_text() for file in files}
    for file, text in once.items():
        compile(text, str(file), "exec", dont_inherit=True)
    oomph("check", folder, "--isolated", "--select", "all", "--fix", *options)
    changed = [file.name for file in files if file.read_text() != once[file]]
    assert not changed, f"a second run changes {changed}"


@pytest.fixture
def written(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with the programs of this file."""
    for name, text in programs().items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_programs_run_as_before(oomph, written):
    paths = sorted(written.glob("*.py"))
    before, texts = run(paths), {path: path.read_text() for path in paths}
    ends = {pathlib.Path(path).stem: end for path, (_, end) in before.items() if end != "ended"}
    assert not ends, f"these are to run to their end: {ends}"
    mend(oomph, written)
    changed = {path.stem for path in paths if path.read_text() != texts[path]}
    assert {"checkpoint_plain", "evaluation_plain", "amp_imported_amp_3"} <= changed, f"only {changed} were fixed"
    assert run(paths) == before


def test_programs_end_as_before_after_unsafe_fixes(oomph, written):
    paths = sorted(written.glob("*.py"))
    before = run(paths)
    mend(oomph, written, "--unsafe-fixes")
    ends = {path: end for path, (_, end) in run(paths).items()}
    assert ends == {path: end for path, (_, end) in before.items()}
    cycle = str(written / "cycle.py")
    assert run([written / "cycle.py"])[cycle] == before[cycle]


def test_the_corpus_ends_as_before(oomph, tmp_path):
    copies = []
    for folder in sorted((ROOT / "corpus" / "check").iterdir()):
        if folder.is_dir() and folder.name != "__pycache__":
            copies.append(tmp_path / folder.name)
            shutil.copytree(folder, copies[-1])
    files = sorted(tmp_path.rglob("*.py"))
    texts = {file: file.read_text() for file in files}
    for copy in copies:
        mend(oomph, copy)
    changed = [file for file in files if file.read_text() != texts[file]]
    changed = [file for file in changed if needs_only_torch(texts[file])]
    assert len(changed) > 10, f"{len(changed)} programs were fixed"
    after = run(changed)
    for file in changed:
        file.write_text(texts[file])
    assert after == run(changed)
    for copy in copies:
        mend(oomph, copy, "--unsafe-fixes")
