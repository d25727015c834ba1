"""What `oomph check` believes of tensors, held against torch: which operations carry a graph on, and what keeps it.

The programs are written by machine from what the installed torch has. Torch runs each of them and says whether what it
keeps requires gradients; `tensor-stored-in-container-with-graph` must say the same without running it.
"""

import collections.abc
import itertools
import json
import warnings

import pytest
import torch
import torch.nn.functional

RULE = "tensor-stored-in-container-with-graph"

PROGRAM = """\
import torch
import torch.nn.functional as F

{before}
def train(model, loader, optimizer, criterion, idx):
    kept = []
    for x, y in loader:
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{body}
    return kept
"""

# How functions and methods are called; the first call of each kind of result is tried.
METHOD_ARGUMENTS = ["", "1", "0", "1, 0", "dim=1", "out", "out > 0, 0.0", "1, idx", "2", "0.5", "[2, 2]", "(4, 4)", "-1"]
FUNCTION_ARGUMENTS = [
    "out", "out, 1", "out, 0", "out, dim=1", "out, out", "out, 2", "out, 0.5", "out, 1, idx", "out > 0, out, out",
    "out > 0", "[out, out]", "[out, out], 1", "out, (4, 4)", "out, 0.1, 0.2", "out[None, None], 2", "out[None], 2",
]  # fmt: skip

# What nobody keeps: they pack weights, ask about dispatch, or give a dtype without gradients by an argument.
LEFT_OUT = {
    "adaptive_max_pool1d", "asarray", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "get_device",
    "hash_tensor", "cudnn_is_acceptable", "map_", "apply_", "set_", "seed", "initial_seed", "manual_seed", "compile",
    "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_grad_enabled", "set_num_threads",
    "set_num_interop_threads", "set_flush_denormal", "use_deterministic_algorithms", "save", "load", "fork", "wait",
    "backward", "storage", "untyped_storage", "new", "resize_as", "sym_not",
}  # fmt: skip


def holds_graph(kept):
    """Whether a tensor in what was kept requires gradients."""
    match kept:
        case torch.Tensor():
            return kept.requires_grad
        case dict():
            return any(map(holds_graph, kept.values()))
        case list() | tuple():
            return any(map(holds_graph, kept))
    return False


def kind(result):
    """What a result is made of."""
    match result:
        case torch.Tensor():
            return f"tensor {result.requires_grad}"
        case tuple() | list():
            return f"({', '.join(map(kind, result))})"
    return type(result).__name__


def run(program):
    """What a program keeps of two small batches."""
    torch.manual_seed(0)
    scope = {}
    exec(compile(program, "program", "exec"), scope)
    model = torch.nn.Linear(4, 4)
    loader = [(torch.randn(4, 4), torch.randint(4, (4,))) for _ in range(2)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return scope["train"](model, loader, optimizer, torch.nn.CrossEntropyLoss(), torch.zeros(4, 4, dtype=torch.long))


def expressions() -> collections.abc.Iterator[tuple[str, object]]:
    """Calls of everything torch has, one for each kind of result, with the result."""
    spaces = [
        (torch.Tensor, "out.{}({})", METHOD_ARGUMENTS),
        (torch, "torch.{}({})", FUNCTION_ARGUMENTS),
        (torch.nn.functional, "F.{}({})", FUNCTION_ARGUMENTS),
        (torch.linalg, "torch.linalg.{}({})", FUNCTION_ARGUMENTS),
    ]
    model, x = torch.nn.Linear(4, 4), torch.randn(4, 4)
    for space, call, arguments in spaces:
        names = [name for name in dir(space) if not name.startswith(("_", "fbgemm", "has_torch", "unsafe", "to_sparse"))]
        for name in names:
            function = getattr(space, name)
            if name.endswith("_") or name in LEFT_OUT or isinstance(function, type) or not callable(function):
                continue
            seen = set()
            for given in arguments:
                scope = {"torch": torch, "F": torch.nn.functional, "out": model(x), "idx": torch.zeros(4, 4).long()}
                try:
                    result = eval(call.format(name, given), scope)
                except Exception:  # noqa: BLE001 - most ways to call most functions are wrong
                    continue
                if isinstance(result, torch.Tensor | tuple | list | int | float) and kind(result) not in seen:
                    seen.add(kind(result))
                    yield call.format(name, given), result


def operations():
    """A program for each operation, and for each part of those that give several things, with whether it keeps a graph."""
    for expression, result in expressions():
        yield PROGRAM.format(before="", body=f"        kept.append({expression})"), holds_graph(result), expression
        if isinstance(result, tuple) and len(result) <= 4:
            for index, part in enumerate(result):
                names = ", ".join("value" if place == index else "_" for place in range(len(result)))
                body = f"        {names} = {expression}\n        kept.append(value)"
                yield PROGRAM.format(before="", body=body), holds_graph(part), f"{names} = {expression}"


def told(oomph, folder, programs):
    """The numbers of the programs in which something is told to keep a graph."""
    for number, program in enumerate(programs):
        (folder / f"p{number}.py").write_text(program)
    _, out, _ = oomph("check", folder, "--json")
    findings = json.loads(out)["findings"]
    return {int(finding["file"].rsplit("/p", 1)[1].removesuffix(".py")) for finding in findings if finding["rule"] == RULE}


def test_operations_carry_graphs_as_torch_says(oomph, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(operations())
    assert len(cases) > 1000
    found = told(oomph, tmp_path, [program for program, _, _ in cases])
    wrong = [name for number, (_, holds, name) in enumerate(cases) if number in found and not holds]
    missed = [name for number, (_, holds, name) in enumerate(cases) if number not in found and holds]
    assert wrong == []
    assert len(missed) < 0.06 * sum(holds for _, holds, _ in cases), missed


VALUES = {
    "loss": "loss",
    "number": "loss.item()",
    "detached": "loss.detach()",
    "scaled": "loss * 2 + 1",
    "array": "out.detach().numpy()",
    "best": "out.max(1)[0]",
    "chosen": "torch.max(out, 1)[1]",
    "right": "(out.argmax(1) == y).float().mean()",
    "first": "out[0]",
    "data": "out.data",
    "copied": "out.clone()",
    "joined": "torch.cat([out, x])",
}
WAYS = {
    "plain": ("", "kept.append(VALUE)"),
    "named": ("", "value = VALUE\nkept.append(value)"),
    "added": ("", "kept += [VALUE]"),
    "together": ("", "kept.append({'step': 1, 'value': VALUE})"),
    "pair": ("", "kept.append((1, VALUE))"),
    "unrecorded": ("", "with torch.no_grad():\n    kept.append(VALUE)"),
    "moved": ("", "kept.append(VALUE if isinstance(VALUE, float) else VALUE)"),
    "choice": ("", "if len(kept) < 100:\n    kept.append(VALUE)"),
    "given": ("def same(value):\n    return value\n", "kept.append(same(VALUE))"),
    "plainly": (
        "def plain(value):\n    if isinstance(value, torch.Tensor):\n        return value.sum().item()\n    return value\n",
        "kept.append(plain(VALUE))",
    ),
    "several": ("def both(a, b):\n    return a, b\n", "value, _ = both(VALUE, y)\nkept.append(value)"),
    "other": ("def both(a, b):\n    return a, b\n", "_, value = both(VALUE, y)\nkept.append(value)"),
    "listed": ("", "values = [VALUE for _ in range(2)]\nkept.extend(values)"),
    "deleted": ("", "value = VALUE\ndel value"),
    "replaced": ("", "kept = [VALUE]"),
    "emptied": ("", "kept.append(VALUE)\nkept.clear()"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_kept_has_a_graph_where_torch_says_so(way, oomph, tmp_path):
    before, body = WAYS[way]
    body = "\n".join(f"        {line}" for line in body.split("\n"))
    programs = [PROGRAM.format(before=before, body=body.replace("VALUE", value)) for value in VALUES.values()]
    # One batch that replaces the last is not kept.
    growing = [len(run(program)) > 1 and holds_graph(run(program)) for program in programs]
    found = told(oomph, tmp_path, programs)
    assert {name for number, name in enumerate(VALUES) if number in found} == set(itertools.compress(VALUES, growing))
