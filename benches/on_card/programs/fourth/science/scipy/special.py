"""Imported and not used here."""
