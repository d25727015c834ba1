class Average:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value, n=1):
        self.total += value.item() * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(self.count, 1)
