"""What is called back after an import, however the module is looked for before."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from oomph.watching import imports  # noqa: E402


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """Modules that were heard of, of one that is called `heard_of`."""
    (tmp_path / "heard_of.py").write_text("there = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "heard_of", raising=False)
    modules: list[ModuleType] = []
    imports.after_import("heard_of", modules.append)
    return modules


def test_heard_after_import(heard: list[ModuleType]) -> None:
    module = importlib.import_module("heard_of")
    assert heard == [module] and module.there


def test_heard_although_someone_looked_whether_it_is_installed(heard: list[ModuleType]) -> None:
    for _ in range(2):
        assert importlib.util.find_spec("heard_of") is not None
    assert heard == []
    module = importlib.import_module("heard_of")
    assert heard == [module]
    importlib.reload(module)
    assert heard == [module], "once is enough"


def test_heard_of_a_module_that_is_installed_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    modules: list[ModuleType] = []
    imports.after_import("heard_of_later", modules.append)
    assert importlib.util.find_spec("heard_of_later") is None
    (tmp_path / "heard_of_later.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert modules == [importlib.import_module("heard_of_later")]
