"""Stands in for the toolkit of GOT-10k."""
