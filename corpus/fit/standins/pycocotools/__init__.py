"""Stands in for `pycocotools` where it is not installed: boxes of images, from the annotations' own JSON."""
