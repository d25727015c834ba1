"""Scores `oomph check` on memory bugs that public projects had, in their code as it was before the fix.

    python corpus/check/real_bugs.py --mirror FOLDER --oomph target/release/oomph [--half work|held]

`real_bugs.jsonl` holds references only. FOLDER has the repositories as git directories, `owner+name/repo` or
`owner+name/repo/.git`. The Python files of a project before and after the fix are written to a temporary folder and
checked there, with the default rules and with all. A bug is found when a finding begins in a statement to blame.
What it says is for a person to judge: the rule is printed. After the fix no finding may begin in those statements.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# What the check reads of a project: code, and the files that say which torch it wants.
WANTED = (".py", "pyproject.toml", "setup.cfg")
SELECTIONS: dict[str, list[str]] = {"default": [], "all": ["--select", "all"]}

Record = dict[str, Any]


@dataclass(frozen=True)
class Project:
    """A repository as a git directory."""

    git_dir: Path

    def git(self, *arguments: str, text: str = "") -> bytes:
        """What a git command prints."""
        command = ["git", f"--git-dir={self.git_dir}", *arguments]
        return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout

    def write(self, commit: str, folder: Path) -> None:
        """Writes what the check reads at a commit; files that the copy of the repository lacks are left out."""
        listing = self.git("ls-tree", "-r", "-z", "--format=%(objectname) %(path)", commit).decode(errors="replace")
        rows = [row for row in listing.split("\0") if row.endswith(WANTED) or "requirements" in row]
        files = [row.partition(" ")[::2] for row in rows]
        blobs = self.git("cat-file", "--batch", text="\n".join(name for name, _ in files) + "\n")
        start = 0
        for _, path in files:
            end_of_header = blobs.index(b"\n", start)
            header = blobs[start:end_of_header].split()
            start = end_of_header + 1
            if header[1] != b"blob":
                continue
            size = int(header[2])
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(blobs[start : start + size])
            start += size + 1


def project_of(mirror: Path, repository: str) -> Project:
    """The project in the mirror; fails if it is not there."""
    base = mirror / repository.replace("/", "+") / "repo"
    for git_dir in (base, base / ".git"):
        if (git_dir / "objects").is_dir():
            return Project(git_dir)
    sys.exit(f"{repository} is not in {mirror}: copy its git directory to {base}")


def statement_lines(source: str, lines: list[int]) -> set[int]:
    """The lines of the statements that the lines are part of; of a loop or function, only those before its body."""
    spans: list[range] = []
    try:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
                decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
                spans.append(range(min([node.lineno, *decorators]), last + 1))
    except SyntaxError:  # code for Python 2
        pass
    found = set(lines)
    for line in lines:
        around = [span for span in spans if line in span]
        found.update(min(around, key=len, default=()))
    return found


def rules_at(oomph: str, project: Project, commit: str, path: str, lines: list[int]) -> dict[str, list[str]]:
    """For each selection of rules, those that speak at the lines."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        project.write(commit, folder)
        blamed = statement_lines((folder / path).read_text(errors="replace"), lines)
        rules: dict[str, list[str]] = {}
        for selection, options in SELECTIONS.items():
            command = [oomph, "check", "--json", "--exit-zero", *options, "."]
            printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
            findings = [row for row in json.loads(printed)["findings"] if Path(row["file"]) == Path(path)]
            rules[selection] = sorted({row["rule"] for row in findings if row["line"] in blamed})
        return rules


def main() -> None:
    """Prints a line a bug, and what was found by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--oomph", default="oomph")
    parser.add_argument("--half", choices=("work", "held"), default="work")
    options = parser.parse_args()
    oomph = str(Path(options.oomph).resolve()) if Path(options.oomph).exists() else options.oomph
    records: list[Record] = [json.loads(line) for line in (HERE / "real_bugs.jsonl").read_text().splitlines()]
    records = [record for record in records if record["half"] == options.half]
    kinds = Counter(record["kind"] for record in records)
    found: dict[str, Counter[str]] = {selection: Counter() for selection in SELECTIONS}
    remaining: Counter[str] = Counter()
    for record in records:
        project = project_of(options.mirror, record["repository"])
        before = rules_at(oomph, project, record["before"], record["path"], record["lines"])
        after = rules_at(oomph, project, record["fix"], record["path"], record["lines_after"])
        for selection in SELECTIONS:
            found[selection][record["kind"]] += bool(before[selection])
            remaining[selection] += bool(after[selection])
        told = ", ".join(before["default"]) or ("only with all: " + ", ".join(before["all"]) if before["all"] else "-")
        stays = f"; after the fix: {', '.join(after['all'])}" if after["all"] else ""
        print(f"{record['id']} {record['path']} [{record['kind']}]: {told}{stays}", flush=True)
    for kind, count in kinds.most_common():
        print(f"{found['default'][kind]} of {count} ({found['all'][kind]} with all rules)  {kind}")
    for selection in SELECTIONS:
        share = f"{found[selection].total()} of {len(records)}"
        print(f"{selection}: {share} found, {remaining[selection]} with a finding that stays after the fix")


if __name__ == "__main__":
    main()
