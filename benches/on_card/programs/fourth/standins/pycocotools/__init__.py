"""Stands in for pycocotools: the annotations are read, nothing is scored."""
