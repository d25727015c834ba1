"""Data sets of files, which are not used here."""

from __future__ import annotations


class TranslationDataset:
    """Not used."""
