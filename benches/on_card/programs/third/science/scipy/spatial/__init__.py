"""Points in space; the nearest ones are not asked for before the programs end."""

from __future__ import annotations


class cKDTree:
    """Not used."""
