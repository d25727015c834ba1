import torch


class Average:
    """Running mean of whatever is put in."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0, 0

    def add(self, value, n=1):
        self.total = self.total + value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(self.count, 1)


def dice_score(logits, target, classes):
    pred = logits.argmax(1)
    out = []
    for c in range(1, classes):
        p, g = pred == c, target == c
        out.append((2 * (p & g).sum() / (p.sum() + g.sum()).clamp(min=1)).item())
    return sum(out) / len(out)
