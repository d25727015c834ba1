"""Stands in for NLTK: how far two words are from each other."""
