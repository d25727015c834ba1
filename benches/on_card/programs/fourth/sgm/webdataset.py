"""Imported and not used here."""


class DataPipeline:
    """Not used."""
