from .loop import Trainer
from .meters import History, Mean

__all__ = ["Trainer", "History", "Mean"]
