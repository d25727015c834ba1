"""Meters shared by the train and evaluation loops."""
from collections import deque


class SmoothedValue:
    def __init__(self, window=20):
        self.window = deque(maxlen=window)
        self.total = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.window.append(float(value))
        self.total += value * n
        self.count += n

    @property
    def global_avg(self):
        return self.total / max(self.count, 1)


class MetricLogger:
    def __init__(self):
        self.meters = {}

    def update(self, **kwargs):
        for name, value in kwargs.items():
            self.meters.setdefault(name, SmoothedValue()).update(value)

    def __str__(self):
        return "  ".join(f"{k}: {m.global_avg:.4f}" for k, m in self.meters.items())
