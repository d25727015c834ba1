"""Runs a notebook as the script that its code cells are."""

from __future__ import annotations

import json
from collections.abc import Iterator

#: Lines that speak to the notebook's shell, not to Python.
_SHELL = ("%", "!", "?")
#: A cell in another language.
_OTHER_LANGUAGE = "%%"
#: Cells that are Python all the same.
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")


def is_notebook(path: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return path.endswith(".ipynb")


def cells(text: bytes, path: str) -> Iterator[tuple[str, str]]:
    """The code of each cell, and the name that tracebacks and tables call it by."""
    notebook = json.loads(text)
    number = 0
    for cell in notebook.get("cells", []):
        if cell.get("cell_type") != "code":
            continue
        number += 1
        source = cell.get("source", "")
        code = plain_python(source if isinstance(source, str) else "".join(source))
        if code.strip():
            yield code, f"{path}#cell{number}"


def plain_python(source: str) -> str:
    """The cell without what only the shell understands; every line keeps its number."""
    lines = source.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(_OTHER_LANGUAGE) and first.split()[0] not in _PYTHON_CELLS:
        return ""
    return "\n".join(_plain_line(line) for line in lines) + "\n"


def _plain_line(line: str) -> str:
    """A line for the shell becomes one that does nothing, so that blocks around it stay whole."""
    stripped = line.lstrip()
    return line[: len(line) - len(stripped)] + "pass" if stripped.startswith(_SHELL) else line


def display(*values: object, **_options: object) -> None:
    """What notebooks show their values with."""
    for value in values:
        print(value)
