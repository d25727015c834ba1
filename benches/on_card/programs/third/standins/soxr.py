"""Stands in for soxr, which transformers imports where it finds librosa, and which nothing here uses."""
