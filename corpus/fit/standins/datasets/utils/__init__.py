"""Logging, as scripts set it."""

from types import SimpleNamespace


def _nothing(*_: object) -> None:
    return None


logging = SimpleNamespace(
    set_verbosity=_nothing,
    set_verbosity_warning=_nothing,
    set_verbosity_error=_nothing,
    set_verbosity_info=_nothing,
    enable_default_handler=_nothing,
    enable_explicit_format=_nothing,
)
disable_progress_bar = enable_progress_bar = _nothing
