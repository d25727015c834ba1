"""Stands in for scikit-learn as far as data are split and counted with it."""
