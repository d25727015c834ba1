"""Stands in for torchtext as it was before 0.9: fields, examples, batches of sentences."""
