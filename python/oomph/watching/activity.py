"""What the script has done so far, as plain numbers: whoever compares two moments knows whether the job moved on."""

from __future__ import annotations


class Activity:
    """Counters of the main thread of one process."""

    __slots__ = ("backwards", "calls", "depth", "optimizers", "steps", "training_calls")

    def __init__(self) -> None:
        #: Optimizers created.
        self.optimizers = 0
        #: Optimizer steps done, of all optimizers together.
        self.steps = 0
        #: Backward passes begun.
        self.backwards = 0
        #: Outermost calls of modules finished.
        self.calls = 0
        #: Those of modules in training mode whose graph autograd recorded: a backward pass may follow.
        self.training_calls = 0
        #: Calls of modules that are running now.
        self.depth = 0

    @property
    def total(self) -> int:
        """Changes whenever something happened that a training or evaluation loop is made of."""
        return self.steps + self.backwards + self.calls
