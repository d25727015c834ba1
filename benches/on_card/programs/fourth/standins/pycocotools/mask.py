"""Masks of things; none is asked for here."""
