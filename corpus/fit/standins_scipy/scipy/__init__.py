"""Stands in for `scipy` where it is not installed: only its name is imported."""
