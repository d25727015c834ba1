from .engine import Engine
from .hooks import Hook, LossHistory, PeakMemory

__all__ = ["Engine", "Hook", "LossHistory", "PeakMemory"]
