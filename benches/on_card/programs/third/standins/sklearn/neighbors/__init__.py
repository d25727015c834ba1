"""Neighbours, which are imported and not asked for."""
