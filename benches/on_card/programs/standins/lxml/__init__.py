"""Stands in for lxml."""
