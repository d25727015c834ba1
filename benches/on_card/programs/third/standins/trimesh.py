"""Stands in for trimesh, which is imported and not used before the programs end."""
