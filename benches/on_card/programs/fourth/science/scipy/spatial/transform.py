"""Imported and not used here."""


class Rotation:
    """Not used."""
