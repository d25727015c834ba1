"""Whether `oomph check` knows when a forward pass records: a thousand evaluations, each run by torch and read by the check.

Every way of switching recording off, or of trying to, is put into every shape of evaluation. Torch runs the program, and
what the network gives says whether the pass was recorded; the check must tell those programs, and no other.
"""

import itertools
import json
import textwrap

import torch

RULES = {"eval-loop-without-no-grad", "eval-mistaken-for-no-grad"}

HEAD = """\
import contextlib
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

def freeze(module):
    for p in module.parameters():
        p.requires_grad = False

def set_requires_grad(nets, flag=False):
    if not isinstance(nets, list):
        nets = [nets]
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag

"""

# What is done to the model before: some of it freezes, some only looks so.
BEFORE = [
    "",
    "for p in model.parameters():\n    p.requires_grad = False",
    "for p in model.parameters():\n    p.requires_grad_(False)",
    "for p in model.parameters():\n    p.detach_()",
    "for name, p in model.named_parameters():\n    p.requires_grad = False",
    "for part in model.modules():\n    for p in part.parameters():\n        p.requires_grad = False",
    "for part in model.children():\n    part.requires_grad_(False)",
    "[p.requires_grad_(False) for p in model.parameters()]",
    "model.requires_grad_(False)",
    "model.apply(lambda part: part.requires_grad_(False))",
    "freeze(model)",
    "set_requires_grad(model, False)",
    "set_requires_grad([model])",
    "torch.set_grad_enabled(False)",
    "model.requires_grad_(False)\nmodel = copy.deepcopy(model)",
    "torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)",
    "torch.no_grad()",
    "map(lambda p: p.requires_grad_(False), model.parameters())",
    "for p in model.parameters():\n    p.require_grad = False",
    "for p in model.head.parameters():\n    p.requires_grad = False",
    "other = Net()\nfor p in other.parameters():\n    p.requires_grad = False",
    "for p in model.parameters():\n    p.requires_grad = False\nfor p in model.parameters():\n    p.requires_grad = True",
    "for name, p in model.named_parameters():\n    if 'head' not in name:\n        p.requires_grad = False",
    "for key, value in model.state_dict().items():\n    value.requires_grad = False",
    "model.train(False)",
    "model = model.double().float()",
]
CONTEXTS = [
    "torch.no_grad()",
    "torch.inference_mode()",
    "torch.inference_mode(False)",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.set_grad_enabled(mode)",
    "torch.enable_grad()",
    "torch.autocast('cpu')",
    "contextlib.nullcontext()",
]
LOOPS = [
    "for x, y in loader:\n    out = model(x)\n    hits += (out.argmax(1) == y).sum().item()",
    "for i, batch in enumerate(loader):\n    x, y = batch\n    guess = model(x).argmax(dim=1)\n    hits += int((guess == y).sum())",
    "for x, y in loader:\n    out = model.forward(x)\n    hits += (out.argmax(1) == y).float().sum().item()",
    "for x, y in loader:\n    loss = nn.functional.cross_entropy(model(x), y)\n    hits += loss.item()",
    "hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)",
    "for x, y in loader:\n    def predict(v):\n        return model(v).argmax(1)\n    hits += (predict(x) == y).sum().item()",
]


def under(context, body):
    """A body in a context, if there is one."""
    return f"with {context}:\n{textwrap.indent(body, '    ')}" if context else body


def put(template, **parts):
    """A template with pieces of code at its marks, as far to the right as these."""
    lines = []
    for line in template.split("\n"):
        mark = line.strip()
        code = parts.get(mark[1:-1]) if mark.startswith("<") else line.strip() and textwrap.dedent(line)
        lines.append(textwrap.indent(code, line[: len(line) - len(line.lstrip())]) if code else "")
    return HEAD + "\n".join(lines)


def in_function(before, context, loop):
    return put(
        "def evaluate(model, loader, mode=False):\n    model.eval()\n    hits = 0\n    <loop>\n    return hits\n\n"
        "def main(loader):\n    model = Net()\n    <before>\n    return evaluate(model, loader)\n",
        before=before, loop=under(context, loop),
    )  # fmt: skip


def in_one(before, context, loop):
    return put(
        "def main(loader, mode=False):\n    model = Net()\n    <before>\n    model.train(False)\n    hits = 0\n    <loop>\n    return hits\n",
        before=before, loop=under(context, loop),
    )  # fmt: skip


def in_caller(before, context, loop):
    return put(
        "def evaluate(model, loader):\n    model.eval()\n    hits = 0\n    <loop>\n    return hits\n\n"
        "def main(loader, mode=False):\n    model = Net()\n    <before>\n    <call>\n    return result\n",
        before=before, loop=loop, call=under(context, "result = evaluate(model, loader)"),
    )  # fmt: skip


def in_decorated(before, context, loop):
    # A context that needs a name, or is no decorator, is left out.
    decorator = f"@{context}" if context and "mode)" not in context and "null" not in context else ""
    return put(
        "<decorator>\ndef evaluate(model, loader):\n    model.eval()\n    hits = 0\n    <loop>\n    return hits\n\n"
        "def main(loader):\n    model = Net()\n    <before>\n    return evaluate(model, loader)\n",
        decorator=decorator, before=before, loop=loop,
    )  # fmt: skip


def in_class(before, context, loop):
    own = loop.replace("model", "self.model").replace("loader", "self.loader")
    return put(
        "class Trainer:\n    def __init__(self, loader):\n        model = Net()\n        <before>\n"
        "        self.model = model\n        self.loader = loader\n\n"
        "    def validate(self, mode=False):\n        self.model.eval()\n        hits = 0\n        <loop>\n"
        "        return hits\n\ndef main(loader):\n    return Trainer(loader).validate()\n",
        before=before, loop=under(context, own),
    )  # fmt: skip


SHAPES = [in_function, in_one, in_caller, in_decorated, in_class]


def records(program):
    """Whether a forward pass of the program leaves something to go back over."""
    scope, seen = {}, []
    exec(compile(program, "program", "exec"), scope)
    forward = scope["Net"].forward

    def watched(self, x):
        out = forward(self, x)
        seen.append(out.requires_grad)
        return out

    scope["Net"].forward = watched
    try:
        scope["main"]([(torch.randn(3, 4), torch.tensor([0, 1, 0]))] * 2)
    finally:
        torch.set_grad_enabled(True)
    assert seen
    return any(seen)


def test_passes_are_told_where_torch_records_them(oomph, tmp_path):
    ways = [(before, "") for before in BEFORE] + [("", context) for context in CONTEXTS]
    programs = [shape(before, context, loop) for (before, context), loop, shape in itertools.product(ways, LOOPS, SHAPES)]
    for number, program in enumerate(programs):
        # Each is a project of its own.
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "program.py").write_text(program)
    _, out, _ = oomph("check", tmp_path, "--json")
    findings = [finding for finding in json.loads(out)["findings"] if finding["rule"] in RULES]
    told = {int(finding["file"].split("/")[-2]) for finding in findings}
    recorded = {number for number, program in enumerate(programs) if records(program)}
    assert 0.3 * len(programs) < len(recorded) < 0.7 * len(programs), "both kinds are there"
    assert [programs[number] for number in sorted(told - recorded)] == [], "told, and nothing is recorded"
    assert [programs[number] for number in sorted(recorded - told)] == [], "recorded, and not told"
