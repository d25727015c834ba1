"""Which files are the user's own."""

from __future__ import annotations

import os
import site
import sysconfig

_INSTALLED = {"site-packages", "dist-packages"}


class Places:
    """Where Python and installed packages lie."""

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        roots = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        roots += [*site.getsitepackages(), site.getusersitepackages(), _own_folder()]
        self._roots = tuple({os.path.join(os.path.realpath(root), "") for root in roots})

    def is_users(self, path: str) -> bool:
        """Whether a source file belongs to the project that is planned."""
        real = os.path.realpath(path)
        return not real.startswith(self._roots) and _INSTALLED.isdisjoint(real.split(os.sep))


def _own_folder() -> str:
    package = __package__ or ""
    return os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * package.count(".")))
