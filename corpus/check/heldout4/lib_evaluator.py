"""smalltrain.evaluate"""
from typing import Callable, Iterable

import torch
from torch import Tensor, nn


class Evaluator:
    """evaluate(model, loader) -> dict of means. Metrics are callables (pred, target) -> tensor."""

    def __init__(self, metrics: dict[str, Callable[[Tensor, Tensor], Tensor]], device: str = "cuda"):
        self.metrics, self.device = metrics, device

    def batches(self, model: nn.Module, loader: Iterable):
        was_training = model.training
        model.eval()
        try:
            for x, y in loader:
                y = y.to(self.device, non_blocking=True)
                yield model(x.to(self.device, non_blocking=True)), y
        finally:
            model.train(was_training)

    def __call__(self, model: nn.Module, loader: Iterable) -> dict[str, float]:
        sums = {name: 0.0 for name in self.metrics}
        n = 0
        for pred, target in self.batches(model, loader):
            for name, fn in self.metrics.items():
                sums[name] += fn(pred, target) * len(target)
            n += len(target)
        return {name: float(total) / n for name, total in sums.items()}


def default() -> Evaluator:
    return Evaluator({"nll": nn.functional.cross_entropy, "sharp": lambda p, t: p.softmax(-1).amax(-1).mean()})
