"""Rewrites the labelled programs without changing what they do, and says which findings `oomph check` loses by that.

    OOMPH=target/release/oomph python corpus/check/rewrites.py [--lost] [WAY ...]

What a program does to memory does not depend on whether its loop is wrapped in `tqdm`, its list grows by `append` or by
`+= [x]`, or its variables are annotated. Each way of rewriting is tried on every labelled script; a finding is lost if
the rule that spoke of the script as it was says nothing of the rewritten one. Some losses are fair: a rule that goes by
a name has nothing to go by when the name is gone.
"""

from __future__ import annotations

import argparse
import ast
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import further_ways
import ways
from score import HERE, SETS, command, findings

# What is only to be scored is not to be looked at in other words either.
USED = [parts for name, parts in SETS.items() if name not in ("heldout2", "heldout8")]

Found = Counter[tuple[str, str]]


WAYS: dict[str, Callable[[], ways.Rewrite]] = {
    "named-parts": ways.NamedParts,
    "enumerated": ways.Enumerated,
    "progress": ways.Progress,
    "named-progress": ways.NamedProgress,
    "generated": ways.Generated,
    "unpacked": ways.Unpacked,
    "taken-by-hand": ways.Taken,
    "guarded": ways.Guarded,
    "in-context": ways.InContext,
    "annotated": ways.Annotated,
    "other-alias": ways.OtherAlias,
    "sum-written": ways.SumWritten,
    "sum-turned": ways.SumTurned,
    "list-added": ways.ListAdded,
    "append-helper": ways.AppendHelper,
    "recorded": ways.Recorded,
    "renamed": ways.Renamed,
    "nested-step": further_ways.NestedStep,
    "called-step": further_ways.CalledStep,
    "method-step": further_ways.MethodStep,
    "state-in-space": further_ways.StateInSpace,
    "state-in-dict": further_ways.StateInDict,
    "over-iter": further_ways.OverIter,
    "skipping": further_ways.Skipping,
    "matched": further_ways.Matched,
    "in-finally": further_ways.InFinally,
    "both-arms": further_ways.BothArms,
    "walrus": further_ways.Walrus,
    "nested-unpacked": further_ways.NestedUnpacked,
    "star-unpacked": further_ways.StarUnpacked,
    "partial": further_ways.Partial,
    "by-keyword": further_ways.ByKeyword,
    "by-getattr": further_ways.ByGetattr,
}


def rewritten(text: str, way: Callable[[], ways.Rewrite]) -> str:
    """A program in other words."""
    tree = way().visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


def labelled() -> dict[str, set[str]]:
    """The rules that may speak of each labelled script."""
    rules: dict[str, set[str]] = {}
    for parts in USED:
        for line in (HERE / parts.labels).read_text().splitlines():
            label = json.loads(line)
            if label["file"].endswith(".py"):
                rules.setdefault(label["file"], set()).update([label["rule"], *label.get("also_ok", [])])
    return rules


def told_of(programs: dict[str, str], rules: dict[str, set[str]]) -> Found:
    """How often each rule that may speaks of each program, with the sets' other files beside them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for parts in USED:
            for path in (HERE / parts.bugs).rglob("*.py"):
                file = path.relative_to(HERE).as_posix()
                copy = root / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(programs.get(file, path.read_text()))
        told = [(finding["file"], finding["rule"]) for finding in findings(command(), ".", root=root)]
    return Counter(pair for pair in told if pair[1] in rules.get(pair[0], ()))


def main() -> None:
    """Tries every way and prints what it loses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"one of {', '.join(WAYS)} (default: all)")
    parser.add_argument("--lost", action="store_true", help="name every finding that is lost")
    args = parser.parse_args()
    rules = labelled()
    texts = {file: (HERE / file).read_text() for file in rules}
    plain = {file: rewritten(text, ways.AsIs) for file, text in texts.items()}
    before = told_of(plain, rules)
    for name in args.ways or WAYS:
        changed = {file: rewritten(text, WAYS[name]) for file, text in texts.items()}
        told = told_of(changed, rules)
        concerned = [pair for pair in before if changed[pair[0]] != plain[pair[0]]]
        lost = [pair for pair in concerned if pair not in told]
        common = ", ".join(f"{rule} {count}" for rule, count in Counter(rule for _, rule in lost).most_common(3))
        share = 100 * len(lost) / max(1, len(concerned))
        print(f"{name:15} {len(lost):4} lost of {len(concerned):4} {share:5.1f} %  {common}")
        if args.lost:
            print(*(f"    {file}: {rule}" for file, rule in sorted(lost)), sep="\n")


if __name__ == "__main__":
    main()
