import torch
from itertools import cycle
class T:
    def fit(self):
        for a, b in zip(self.loader_a, cycle(self.loader_b)):  # <-
            self.step(a, b)
