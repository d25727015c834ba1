class Meter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return float(sum(self.values) / max(len(self.values), 1))
