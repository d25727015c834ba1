"""A safe fix never changes results: programs are run before and after it, and must print the same.

Every rule whose page promises a safe fix has at least one program here, `safe_fixes/<rule>__<n>.py`: a small script
that runs on the CPU in a few seconds, fixes its seeds, has the bug, and prints what it computes (losses, `digest`s of
tensors). The test copies it, runs it, applies `oomph check --fix --select <rule>`, checks that the file changed and that
the rule is silent, and runs it again. Both runs must succeed and print the same.

A program whose bug is an error (a function that does not exist) catches that error in both states, so that the run
before the fix has something to compare: see `unknown-memory-api__1.py`.
"""

import pathlib
import re

import forking
import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "safe_fixes").glob("*__*.py"))
SAFE = re.compile(r"`--fix` mends it")


def rule_of(program):
    return program.stem.split("__")[0]


def safe_rules(oomph):
    """Names of the rules whose page says that `--fix` mends them."""
    pages = oomph.json("doc")["pages"]
    rules = [page for page in pages if page["kind"] == "rule"]
    assert rules, "'oomph doc' lists no rules"
    return {page["name"] for page in rules if SAFE.search(page["text"])}


def run(program):
    """What a program prints; it has to succeed."""
    ended = forking.run(program)
    assert ended.code == 0, ended.err
    assert ended.out.strip(), "a program that prints nothing proves nothing"
    return ended.out


def test_every_safe_fix_has_a_program(oomph):
    missing = safe_rules(oomph) - {rule_of(program) for program in PROGRAMS}
    assert not missing, f"write tests/python/safe_fixes/<rule>__1.py for {', '.join(sorted(missing))}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_results_stay_the_same(oomph, program, tmp_path):
    rule = rule_of(program)
    assert rule in safe_rules(oomph), f"{rule} has no safe fix"
    copy = tmp_path / "program.py"
    copy.write_text(program.read_text())
    before = run(copy)
    code, out, err = oomph("check", copy, "--isolated", "--fix", "--select", rule)
    assert code == 0, f"something is left to fix\n{out}{err}"
    assert copy.read_text() != program.read_text(), "the fix changed nothing"
    assert run(copy) == before
