"""Stands in for torch-fidelity, which is imported and not used before the programs end."""
