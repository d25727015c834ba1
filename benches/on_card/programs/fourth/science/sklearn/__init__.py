"""Stands in for scikit-learn as far as the programs use it."""
