"""Stands in for scikit-image as far as pictures are read and scaled with it."""
