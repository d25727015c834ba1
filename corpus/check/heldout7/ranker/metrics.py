import time


class RunningMean:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.total = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.total = self.total + value * n
        self.count += n

    @property
    def mean(self):
        return float(self.total) / max(self.count, 1)


class Throughput:
    def __init__(self):
        self.t0, self.rows = time.perf_counter(), 0

    def add(self, n):
        self.rows += n

    def rate(self):
        return self.rows / (time.perf_counter() - self.t0)
