"""Stands in for SciPy as far as the programs use it before they end."""

from . import ndimage

__all__ = ["ndimage"]
