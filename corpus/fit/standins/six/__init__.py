"""Stands in for `six` where it is not installed."""
