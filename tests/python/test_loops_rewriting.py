"""Compiling a file so that its loops can be watched changes nothing else about it."""

import ast
import inspect
import linecache
import sys
import textwrap
import traceback

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))
from oomph.watching.loops import rewriting  # noqa: E402


class Numbers:
    """Keeps what was found."""

    def __init__(self):
        self.sites, self.branches = [], []

    def add_site(self, site):
        self.sites.append(site)
        return len(self.sites) - 1

    def add_branch(self, branch):
        self.branches.append(branch)
        return len(self.branches) - 1


@pytest.fixture
def compiled():
    """Compiles a text, runs it with loops that nobody watches, and returns its names and what was found in it."""

    def run(text, path="job.py"):
        found = Numbers()
        code = rewriting.compiled(textwrap.dedent(text), path, found)
        names = dict.fromkeys(("__oomph_enter__", "__oomph_asked__", "__oomph_taken__"), lambda _number: None)
        names["__oomph_loop__"] = lambda iterable, _number: iterable
        exec(code, names)
        return names, found

    return run


def test_programs_mean_what_they_meant(compiled):
    text = '''
        """The docstring."""
        from __future__ import annotations

        def numbers(n):
            for i in range(n):
                yield i

        def work(n: int) -> list:
            found, i = [], 0
            while (i := i + 1) < n:
                if i % 3 == 0:
                    continue
                found.append(i)
            else:
                found.append("end")
            for a, (b, *c) in zip(range(3), ["xyz", "uvw"]):
                found.append((a, b, c))
                if a == 1:
                    break
            else:
                found.append("never")
            while True:
                if len(found) > 5:
                    break
                found.append(None)
            return found + [x for x in numbers(3)] + sorted({y * 2 for y in range(3)}) + list({k: k * 2 for k in "ab"})

        class Kept:
            while True:
                size = 3
                break
            squares = [n * n for n in range(size)]

        result = work(8), Kept.squares, [name for name in vars(Kept) if "oomph" in name]
    '''
    plain = {}
    exec(compile(textwrap.dedent(text), "job.py", "exec"), plain)
    names, found = compiled(text)
    assert names["result"] == plain["result"]
    assert (names["__doc__"], names["work"].__annotations__) == (plain["__doc__"], plain["work"].__annotations__)
    assert len(found.sites) == 9, [(site.line, site.statement) for site in found.sites]


def test_generators_keep_their_loops(compiled):
    _, found = compiled("""
        def cycle(loader):
            while True:
                for batch in loader:
                    yield batch

        async def stream(loader):
            for batch in loader:
                await batch

        lazy = (item + 1 for item in [1])
    """)
    assert found.sites == []


def test_forward_passes_and_other_compilers_are_left_alone(compiled):
    _, found = compiled("""
        def njit(function):
            return function

        class Net:
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)

        @njit
        def quick(n):
            for i in range(n):
                pass
    """)
    assert found.sites == []


def test_tracebacks_and_sources_show_the_users_lines(compiled, tmp_path):
    path = tmp_path / "job.py"
    path.write_text("def work():\n    for x in [1]:\n        while x:\n            x = 1 / (x - 1)\n")
    names, _ = compiled(path.read_text(), str(path))
    linecache.checkcache()
    with pytest.raises(ZeroDivisionError) as problem:
        names["work"]()
    assert "x = 1 / (x - 1)" in traceback.format_exc() or problem.traceback[-1].lineno + 1 == 4
    assert inspect.getsource(names["work"]) == path.read_text()


def test_lines_are_those_of_the_file(compiled):
    text = "for x in [1]:\n    pass\nwhile x:\n    x = 0\n    if x == 3:\n        y = 1\n"
    kept = rewriting.compiled(text, "job.py", Numbers())
    assert {line for _, _, line in kept.co_lines() if line} <= set(range(7))


def branches(text):
    found = Numbers()
    rewriting.compiled(textwrap.dedent(text), "job.py", found)
    return {(" & ".join(branch.condition.leaves), branch.effect) for site in found.sites for branch in site.branches}


def test_branches_that_count_are_found():
    assert branches("""
        for i, x in enumerate(data):
            if (i + 1) % args.every == 0 and is_main():
                validate()
            if self.step > 5:
                return_ = 1
            elif x is None:
                pass
            if i % 7:
                continue
            if len(queue) > 3:
                train()
    """) == {("i & args.every", "stays"), ("self.step", "stays"), ("i", "stays"), ("len(queue)", "stays")}


def test_functions_that_are_formulas_are_written_out():
    text = """
        def divisible_by(number, by):
            \"\"\"Without a rest.\"\"\"
            return number % by == 0

        def unknown(number):
            print(number)
            return number % 5 == 0

        def itself(number):
            return itself(number - 1)

        for step in data:
            if divisible_by(step, args.every):
                save()
            if unknown(step):
                save()
            if itself(step):
                save()
    """
    assert branches(text) == {("step & args.every", "stays")}


def test_ways_out_are_told_apart():
    assert branches("""
        def train():
            while True:
                step += 1
                if step > last:
                    break
                if step == 10:
                    save()
                    return model
                if step > 20:
                    raise ValueError
                if step % 10 == 0:
                    print(step)
    """) == {("step & last", "breaks"), ("step", "leaves")}


def test_what_stands_in_between_must_hold_too():
    text = """
        for i in data:
            if i % 4 == 0:
                with gradients:
                    n += 1
                    if n % 3 == 0:
                        save()
            else:
                other()
    """
    found = Numbers()
    rewriting.compiled(textwrap.dedent(text), "job.py", found)
    inner, taken, other = found.sites[0].branches
    assert inner.condition.holds({"i": 8, "n": 9}) and not inner.condition.holds({"i": 9, "n": 9})
    assert taken.condition.holds({"i": 8}) and not other.condition.holds({"i": 8})


def test_syntax_errors_are_pythons_own():
    with pytest.raises(SyntaxError) as problem:
        rewriting.compiled("for x in:\n", "job.py", Numbers())
    assert (problem.value.filename, problem.value.lineno) == ("job.py", 1)


def test_positions_are_complete():
    text = (ROOT / "python/oomph/watching/loops/leading.py").read_text()
    tree = ast.parse(text)
    rewriter = rewriting._Rewriter("leading.py", Numbers(), lambda site: None, {})
    for node in ast.walk(rewriter.visit(tree)):
        if isinstance(node, (ast.stmt, ast.expr)):
            assert node.lineno and node.end_lineno
