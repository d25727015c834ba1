"""Names that moved between Python 2 and 3."""

import urllib
import urllib.request

__all__ = ["urllib"]
