"""Surfaces, which the programs import and do not look for before they end."""
