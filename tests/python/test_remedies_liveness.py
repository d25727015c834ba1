"""Which variables are still read after a place, held against runs of generated programs."""

import ast
import random
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.remedies.micro_batches.liveness import live_after  # noqa: E402

NAMES = "abcd"


def live(text):
    tree = ast.parse(text)
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), tree)
    place = next(node for node in ast.walk(tree) if isinstance(node, ast.Expr) and ast.unparse(node) == "here()")
    return live_after(function, place) & set(NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("here()\nprint(a)", "a"),
        ("here()\na = 1\nprint(a)", ""),
        ("here()\na += 1", "a"),
        ("here()\nif b:\n    a = 1\nprint(a)", "ab"),
        ("here()\nif b:\n    a = 1\nelse:\n    a = 2\nprint(a)", "b"),
        ("for a in b:\n    here()\nprint(a)", "a"),
        ("for a in b:\n    print(a, c)\n    c = d\n    here()", "cd"),
        ("while b:\n    a = c\n    here()\n    if d:\n        break\n    print(a)\nelse:\n    a = 1\nprint(a)", "abcd"),
        ("for a in c:\n    here()\n    continue\n    print(a)", ""),
        ("try:\n    here()\n    a = 1\nexcept ValueError:\n    print(a)", "a"),
        ("try:\n    here()\n    a = 1\nfinally:\n    b = 2\nprint(a, b)", ""),
        ("here()\nwith c as a:\n    print(a)", "c"),
        ("def step():\n    global b\n    here()\n    b = 1\n    return lambda: a", "ab"),
        ("here()\ndel a\nb: int\nprint(b)", "b"),
        ("here()\n(a := c) and (b := 1)\nprint(b)", "bc"),
    ],
)
def test_what_is_read_later(text, expected):
    assert live(text) == set(expected)


def _statements(chooser, depth):
    """Lines of a program over a few variables; conditions are drawn when it runs."""
    lines = []
    for _ in range(chooser.randrange(1, 4)):
        kind = chooser.randrange(9 if depth < 3 else 3)
        one, other = chooser.choice(NAMES), chooser.choice(NAMES)
        if kind == 0:
            lines.append(f"read('{one}')")
        elif kind == 1:
            lines += [f"read('{other}')", f"{one} = set_('{one}')"]
        elif kind == 2:
            lines.append(f"{one} = set_('{one}')")
        else:
            inner = ["    " + line for line in _statements(chooser, depth + 1)]
            rest = ["    " + line for line in _statements(chooser, depth + 1)]
            if kind in (3, 4):
                lines += ["if draw():", *inner, "else:", *rest]
            elif kind == 5:
                lines += ["while draw():", *inner, "    if draw():", f"        {chooser.choice(['break', 'continue'])}", *rest]
            elif kind == 6:
                lines += [f"for {one} in bound('{one}'):", *inner]
            elif kind == 7:
                lines += ["try:", *inner, "    fail()", *rest, "except OSError:", *rest]
            else:
                lines += ["if draw():", *inner]
    return lines


@pytest.mark.parametrize("seed", range(150))
def test_nothing_that_a_run_reads_is_missed(seed):
    """Programs are run many times: what was set before the place and is read after it must have been said to be live."""
    chooser = random.Random(seed)
    lines = _statements(chooser, 0)
    at = chooser.randrange(len(lines))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if lines[at].lstrip().startswith(("else", "except")):
        indent += "    "
        at += 1
    text = "\n".join([*lines[:at], f"{indent}here()", *lines[at:]])
    # Names that are read stand in the source as reads.
    source = text
    for name in NAMES:
        source = source.replace(f"read('{name}')", f"read({name})")
    said = live(source)
    code, seen = compile(text, "<program>", "exec"), set()
    for run in range(200):
        draws = random.Random(run)
        after = {}

        def here():
            after.clear()
            after.update(dict.fromkeys(NAMES, True))

        def set_(name):
            after[name] = False

        def read(name):
            if after.get(name):
                seen.add(name)

        def bound(name):
            for _ in range(draws.randrange(3)):
                set_(name)
                yield None

        def fail():
            if draws.random() < 0.3:
                raise OSError

        steps = iter(range(60))
        draw = lambda: next(steps, None) is not None and draws.random() < 0.5  # noqa: E731
        exec(code, {"here": here, "set_": set_, "read": read, "bound": bound, "fail": fail, "draw": draw})
    assert seen <= said
