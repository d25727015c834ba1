"""Densities, which are imported and not asked for."""

from __future__ import annotations


class KernelDensity:
    """Not used."""
