"""Runs a notebook as the script that its code cells are."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator

#: Lines that speak to the notebook's shell, not to Python: `%matplotlib inline`, `!ls`, `?torch.nn`, `torch.nn?`. An `%`
#: before anything but a name is Python's own, in an expression that goes on.
_SHELL = re.compile(r"%{1,2}\w|[!?]|[\w.]+\?+$")
#: The same to the right of a name: `files = !ls`.
_SHELL_VALUE = re.compile(r"(?P<to>[\w.]+\s*=\s*)(?P<line>(?:%\w|!).*)")
#: A cell in another language.
_OTHER_LANGUAGE = "%%"
#: Cells that are Python all the same.
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
#: Lines that run the Python behind them (`%time train()`): which of their options take a word of their own.
_PYTHON_LINES = {"time": "", "timeit": "nrp", "prun": "lsTD", "memit": "rti", "mprun": "fT", "lprun": "fmDTu"}
_OPTION = re.compile(r"-(?P<name>\w)(?P<word>\S*)\s+")
#: Lines that change where the cells behind them run: the folder, or a variable of the environment.
_FOLDER = re.compile(r"%cd(?:\s+-q)?\s+(?P<folder>[^-\s${].*)")
_VARIABLE = re.compile(r"%(?:set_)?env\s+(?P<name>[A-Za-z_]\w*)(?:\s*=\s*|\s+)(?P<value>[^${]+)")


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
    is_python = True
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        is_python = False
    return "\n".join(lines if is_python else _plain_lines(lines)) + "\n"


def _plain_lines(lines: list[str]) -> Iterator[str]:
    """The lines as Python's. Behind a backslash a line for the shell goes on, and what stands there is the shell's."""
    goes_on = False
    for line in lines:
        plain = "" if goes_on else _plain_line(line)
        yield plain
        goes_on = (goes_on or plain != line) and line.endswith("\\") and not plain.endswith("\\")


def _plain_line(line: str) -> str:
    """A line for the shell becomes one that does nothing, so that blocks around it stay whole."""
    stripped = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    assigned = _SHELL_VALUE.fullmatch(stripped)
    if assigned is not None:
        return indent + assigned["to"] + (_timed(assigned["line"]) or "[]")
    return indent + (_timed(stripped) or _placed(stripped) or "pass") if _SHELL.match(stripped) else line


def _placed(line: str) -> str:
    """The Python that does the same to the process."""
    if (found := _FOLDER.fullmatch(line)) is not None:
        folder = found["folder"].strip().strip("'\"")
        return f"__import__('oomph').notebook.enter({folder!r})"
    if (found := _VARIABLE.fullmatch(line)) is not None:
        return f"__import__('os').environ[{found['name']!r}] = {found['value'].strip()!r}"
    return ""


def _timed(line: str) -> str:
    """The Python that a line for the shell runs."""
    name, _, rest = line.removeprefix("%").partition(" ")
    if name not in _PYTHON_LINES:
        return ""
    rest = rest.lstrip()
    while (option := _OPTION.match(rest)) is not None:
        rest = rest[option.end() :]
        if option["name"] in _PYTHON_LINES[name] and not option["word"]:
            rest = rest.partition(" ")[2].lstrip()
    return rest


def display(*values: object, **_options: object) -> None:
    """What notebooks show their values with."""
    for value in values:
        print(value)


def enter(folder: str) -> None:
    """What `%cd` does: a folder that is not there is no error."""
    with contextlib.suppress(OSError):
        os.chdir(os.path.expanduser(folder))


class Shell:
    """What cells get that ask for the shell they run in: whatever they tell it is a line for the shell, and does nothing."""

    def getoutput(self, _command: str, *_more: object, **_options: object) -> list[str]:
        """The lines that a command prints."""
        return []

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing


def get_ipython() -> Shell:
    """The shell."""
    return Shell()


def _nothing(*_words: object, **_options: object) -> None:
    return None
