"""Where scaling was before."""

from . import rotate, zoom

__all__ = ["rotate", "zoom"]
