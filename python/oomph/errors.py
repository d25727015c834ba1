"""Why a script cannot be planned at all, whatever it does."""

from __future__ import annotations


class Unusable(BaseException):
    """The interpreter lacks what a plan needs. Not an `Exception`: scripts that catch those must not swallow it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        #: A word for programs.
        self.reason = reason
