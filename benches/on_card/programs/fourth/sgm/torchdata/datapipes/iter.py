"""Imported and not used here."""


class IterDataPipe:
    """Not used."""
