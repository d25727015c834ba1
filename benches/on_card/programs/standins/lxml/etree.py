"""The elements of the standard library have what the programs use."""

from xml.etree.ElementTree import fromstring, parse

__all__ = ["fromstring", "parse"]
