"""Points in space."""
