"""Training a smaller model to answer as a larger one does."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from .desk import Desk

#: Computes the loss against the true targets from logits and targets.
HardLoss = Callable[[Any, Any], Any]


def distill(
    student: Any, teacher: Any, temperature: float = 2.0, share: float = 0.5, hard_loss: HardLoss | None = None
) -> Distillation:
    """The loss of a student that learns from a teacher: call what this returns with the inputs of both.

    `loss = distillation(inputs, targets=labels)`. The teacher runs in evaluation mode under `inference_mode`, so
    nothing of it is kept but its answers. `share` of the loss is the divergence of the student's answers from the
    teacher's, both softened by `temperature`; the rest is `hard_loss` (cross entropy) against the targets. Without
    targets it is the divergence alone. Models that return objects are asked for `logits`.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, not {share}")
    return Distillation(student, teacher, temperature, share, hard_loss)


class Distillation:
    """The loss of a student; see `distill`."""

    def __init__(
        self, student: Any, teacher: Any, temperature: float, share: float, hard_loss: HardLoss | None
    ) -> None:
        self.student = student
        self.teacher = teacher
        self.temperature = temperature
        self.share = share
        self.hard_loss: HardLoss = hard_loss or _cross_entropy
        teacher.eval()

    def __call__(self, *inputs: Any, targets: Any = None, **named: Any) -> Any:
        """Runs both models and returns the student's loss."""
        import torch
        from torch.nn import functional

        softness = self.temperature
        with torch.inference_mode():
            answers = functional.log_softmax(_precise(_logits(self.teacher(*inputs, **named))) / softness, dim=-1)
        # A graph may keep a copy, not a tensor of inference mode.
        answers = answers.clone()
        logits = _logits(self.student(*inputs, **named))
        own = functional.log_softmax(_precise(logits) / softness, dim=-1)
        soft = functional.kl_div(own.flatten(0, -2), answers.flatten(0, -2), reduction="batchmean", log_target=True)
        # Gradients of softened answers shrink with the square of the temperature.
        soft = soft * softness**2
        if targets is None:
            return soft
        return self.share * soft + (1 - self.share) * self.hard_loss(logits, targets)


def install(_torch: ModuleType, desk: Desk) -> None:
    """There is no way to do it to a script that has one model."""
    desk.refuse("Only the script knows its teacher: distill is used by hand.")


def _logits(answer: Any) -> Any:
    return getattr(answer, "logits", answer)


def _precise(logits: Any) -> Any:
    """Sums of exponentials in halves would lose what is to be learned."""
    return logits.float() if logits.element_size() < 4 else logits


def _cross_entropy(logits: Any, targets: Any) -> Any:
    from torch.nn import functional

    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
