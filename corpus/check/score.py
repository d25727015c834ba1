"""Scores `oomph check` on the labelled bugs and on the clean code beside this file.

Run it with the command under test in $OOMPH (default: `oomph`):

    OOMPH=target/release/oomph python corpus/check/score.py [--set NAME|all] [--misses] [--json]

The sets are scored one after the other. Recall is the share of labelled bugs that one finding names: the right
rule, or one the label also accepts, within three lines of the bug or of its span. It is told twice: of the bugs that
default rules are for, as a plain `oomph check` finds them, and of all bugs, with every rule selected. False alarms are
findings of a plain run in the set's clean folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# A rule may point at the statement, at the loop around it or at the value it keeps.
SLACK_LINES = 3

Record = dict[str, Any]


@dataclass(frozen=True)
class CorpusSet:
    """Where the parts of one set are."""

    bugs: str
    labels: str
    clean: str


SETS = {
    "seeded": CorpusSet("seeded", "labels.jsonl", "clean"),
    "heldout": CorpusSet("heldout", "heldout.jsonl", "heldout_clean"),
    "heldout2": CorpusSet("heldout2", "heldout2.jsonl", "heldout2_clean"),
    "heldout3": CorpusSet("heldout3", "heldout3.jsonl", "heldout3_clean"),
    "heldout4": CorpusSet("heldout4", "heldout4.jsonl", "heldout4_clean"),
    "heldout5": CorpusSet("heldout5", "heldout5.jsonl", "heldout5_clean"),
    "heldout6": CorpusSet("heldout6", "heldout6.jsonl", "heldout6_clean"),
    "heldout7": CorpusSet("heldout7", "heldout7.jsonl", "heldout7_clean"),
    "heldout8": CorpusSet("heldout8", "heldout8.jsonl", "heldout8_clean"),
    "heldout9": CorpusSet("heldout9", "heldout9.jsonl", "heldout9_clean"),
}


@dataclass(frozen=True)
class Score:
    """What was found of what is there in one set."""

    name: str
    missed: list[Record]
    missed_plainly: list[Record]
    wrong_level: list[tuple[Record, str]]
    false_alarms: list[Record]
    labels: list[Record]

    def recall(self) -> tuple[int, int]:
        """Bugs found with every rule selected, and bugs labelled."""
        return len(self.labels) - len(self.missed), len(self.labels)

    def plain_recall(self) -> tuple[int, int]:
        """Bugs found by a plain run, and bugs labelled, among those that default rules are for."""
        labels = sum(1 for label in self.labels if by_default(label))
        return labels - len(self.missed_plainly), labels

    def passes(self, min_recall: float) -> bool:
        """Whether both recalls reach the goal and the clean code is silent."""
        reached = (hit >= min_recall * count for hit, count in (self.recall(), self.plain_recall()))
        return all(reached) and not self.false_alarms


def by_default(label: Record) -> bool:
    """Whether a label is for a rule that is on by default."""
    return not label.get("opt_in")


def command() -> list[str]:
    """The words of $OOMPH, the program as an absolute path: it runs in another directory."""
    words = shlex.split(os.environ.get("OOMPH", "oomph"))
    program = shutil.which(words[0])
    if program is None:
        sys.exit(f"{words[0]} is not a program: set OOMPH to the command to score")
    return [str(Path(program).resolve()), *words[1:]]


def findings(oomph: list[str], folder: str, *options: str, root: Path = HERE) -> list[Record]:
    """The findings of one run over a folder of `root`, their files relative to that."""
    run = subprocess.run(
        [*oomph, "check", *options, "--output-format", "json", folder],
        cwd=root, capture_output=True, text=True, check=False,
    )
    if run.returncode not in (0, 1):
        sys.exit(f"{shlex.join(run.args)} ended with {run.returncode}: {run.stderr.strip()}")
    found: list[Record] = json.loads(run.stdout)["findings"]
    for finding in found:
        finding["file"] = (root / finding["file"]).resolve().relative_to(root).as_posix()
    return found


def near(label: Record, finding: Record) -> bool:
    """Whether a finding stands where the label says; in notebooks lines may be counted per cell or over all cells."""
    first, last = label.get("span", (label["line"], label["line"]))
    line = finding["line"]
    if first - SLACK_LINES <= line <= last + SLACK_LINES:
        return True
    if "cell" not in label:
        return False
    same_cell = finding.get("cell") in (None, label["cell"])
    return same_cell and abs(line - label["cell_line"]) <= SLACK_LINES


def match(labels: list[Record], found: list[Record]) -> tuple[list[Record], list[tuple[Record, str]]]:
    """The labels that no finding names, and those named at another level than they say."""
    by_file: dict[str, list[Record]] = defaultdict(list)
    for finding in found:
        by_file[finding["file"]].append(finding)
    missed, wrong_level = [], []
    for label in labels:
        accepted = {label["rule"], *label["also_ok"]}
        hits = [f for f in by_file[label["file"]] if f["rule"] in accepted and near(label, f)]
        if not hits:
            missed.append(label)
            continue
        levels = {f["level"] for f in hits if f["rule"] == label["rule"]}
        if "level" in label and levels and label["level"] not in levels:
            wrong_level.append((label, ", ".join(sorted(levels))))
    return missed, wrong_level


def score_set(oomph: list[str], name: str) -> Score:
    """Runs the command over one set and scores it."""
    parts = SETS[name]
    labels = [json.loads(line) for line in (HERE / parts.labels).read_text().splitlines()]
    missed, wrong_level = match(labels, findings(oomph, parts.bugs, "--select", "all"))
    missed_plainly, _ = match([label for label in labels if by_default(label)], findings(oomph, parts.bugs))
    return Score(name, missed, missed_plainly, wrong_level, findings(oomph, parts.clean), labels)


def as_json(result: Score) -> Record:
    """The figures of one set for programs."""
    hit, count = result.recall()
    default_hit, default_count = result.plain_recall()
    return {
        "found": hit, "labels": count, "found_default": default_hit, "labels_default": default_count,
        "missed": result.missed, "missed_default": result.missed_plainly, "wrong_level": [label for label, _ in result.wrong_level],
        "false_alarms": result.false_alarms,
    }


def show(result: Score, misses: bool) -> None:
    """Prints the tables of one set for people."""
    print(f"== {result.name}")
    lost = Counter(label["rule"] for label in result.missed)
    total = Counter(label["rule"] for label in result.labels)
    for rule in sorted(total, key=lambda name: (-lost[name] / total[name], name)):
        print(f"{total[rule] - lost[rule]:3}/{total[rule]:<3} {rule}")
    told = (("recall, plain run", result.plain_recall()), ("recall, every rule selected", result.recall()))
    for title, (hit, count) in told:
        print(f"{title}: {hit}/{count} = {100 * hit / max(count, 1):.1f} %")
    for label, level in result.wrong_level:
        print(f"level: {label['file']}:{label['line']} {label['rule']} is {label['level']}, reported as {level}")
    if misses:
        for label in result.missed:
            print(f"missed: {label['file']}:{label['line']} {label['rule']}")
        for label in result.missed_plainly:
            if label not in result.missed:
                print(f"missed unless selected: {label['file']}:{label['line']} {label['rule']}")
    print(f"false alarms in {SETS[result.name].clean}/: {len(result.false_alarms)}")
    for finding in result.false_alarms:
        print(f"false alarm: {finding['file']}:{finding['line']} {finding['rule']}: {finding.get('message', '')}")


def main() -> int:
    """Exit code 0 when every chosen set reaches the goal and its clean code is silent, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=[*SETS, "all"], default="all", help="which set to score (default: all)")
    parser.add_argument("--misses", action="store_true", help="name every bug that was not found")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, one object a set")
    parser.add_argument("--min-recall", type=float, default=0.85, help="the goal for both recalls (default: 0.85)")
    options = parser.parse_args()
    oomph = command()
    results = [score_set(oomph, name) for name in SETS if options.set in (name, "all")]
    if options.json:
        json.dump({result.name: as_json(result) for result in results}, sys.stdout, indent=1)
        print()
    else:
        for result in results:
            show(result, options.misses)
    return 0 if all(result.passes(options.min_recall) for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
