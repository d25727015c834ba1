"""Imported and not used here."""

metric = None
