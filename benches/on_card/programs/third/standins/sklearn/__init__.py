"""Stands in for scikit-learn's metrics."""
