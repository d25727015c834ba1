"""Stands in for pycocotools, which the programs import and do not use here."""

from __future__ import annotations


class COCO:
    """Not used."""


class COCOeval:
    """Not used."""
