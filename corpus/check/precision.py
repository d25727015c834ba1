"""Counts the judgements of `precision.jsonl`: the tables of precision.md, by part and by rule.

    python corpus/check/precision.py
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

Record = dict[str, Any]


def share(rows: list[Record]) -> str:
    """Right of judged, and in per cent."""
    right = sum(row["right"] for row in rows)
    return f"{right} of {len(rows)}, {100 * right / len(rows):.1f} %" if rows else ""


def ratio(rows: list[Record]) -> str:
    """Right of judged, short."""
    return f"{sum(row['right'] for row in rows)}/{len(rows)}" if rows else ""


def reached(rows: list[Record]) -> list[Record]:
    """Those whose line runs, or would: without what is wrong only because the program never gets there."""
    return [row for row in rows if not row.get("unreached")]


def parts(rows: list[Record]) -> list[str]:
    """A line a part: at first sight as drawn evenly over the rules, at random, both, and what is told after mending."""
    lines = [
        "| part | at most 12 a rule | at random | of these reached | all judged | told by the rules of now |",
        "|---|---|---|---|---|---|",
    ]
    for part in sorted({row["half"] for row in rows}):
        own = [row for row in rows if row["half"] == part]
        even = [row for row in own if row.get("drawn", "even") in ("even", "both")]
        random = [row for row in own if row.get("drawn", "even") in ("random", "both")]
        after = [row for row in own if row["after"] == "stays"]
        lines.append(
            f"| {part} | {share(even)} | {share(random)} | {share(reached(random))} | {share(own)} | {share(after)} |"
        )
    return lines


def rules(rows: list[Record]) -> list[str]:
    """A line a rule, a column a part."""
    names = sorted({row["half"] for row in rows})
    by_rule: dict[str, list[Record]] = defaultdict(list)
    for row in rows:
        by_rule[row["rule"]].append(row)
    lines = ["| rule | " + " | ".join(names) + " | now |", "|---|" + "---|" * (len(names) + 1)]
    for rule, own in sorted(by_rule.items()):
        cells = [ratio([row for row in own if row["half"] == part]) for part in names]
        lines.append(f"| `{rule}` | " + " | ".join(cells) + f" | {ratio([r for r in own if r['after'] == 'stays'])} |")
    return lines


def main() -> None:
    """Prints both tables, and how many right findings are no longer told."""
    rows = [json.loads(line) for line in (HERE / "precision.jsonl").read_text().splitlines()]
    print(*parts(rows), "", *rules(rows), sep="\n")
    lost = Counter(row["half"] for row in rows if row["right"] and row["after"] == "gone")
    print("\nright and no longer told:", ", ".join(f"{part} {count}" for part, count in sorted(lost.items())))


if __name__ == "__main__":
    main()
