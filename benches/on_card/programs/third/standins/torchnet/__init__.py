"""Stands in for torchnet's meters."""
