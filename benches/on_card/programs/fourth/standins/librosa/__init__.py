"""Stands in for librosa: filters of the right shape."""

from . import filters, util

__all__ = ["filters", "util"]
