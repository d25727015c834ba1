"""Stands in for SciPy, which the programs import and do not use before they end."""
