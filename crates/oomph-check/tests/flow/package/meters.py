class Meter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)  # <- tensor-stored-in-container-with-graph


def mean(values):
    return sum(values) / len(values)
