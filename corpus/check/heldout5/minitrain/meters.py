class Mean:
    """Running mean of whatever you give it."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.total = 0.0
        self.n = 0

    def add(self, value, weight=1):
        self.total = self.total + value * weight
        self.n += weight

    def value(self):
        return self.total / max(1, self.n)


class History:
    def __init__(self):
        self.rows = {}

    def put(self, key, value):
        self.rows.setdefault(key, []).append(value)

    def last(self, key):
        return self.rows[key][-1]
