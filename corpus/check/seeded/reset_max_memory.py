import time

import torch


class Meter:
    def __enter__(self):
        torch.cuda.reset_max_memory_allocated()
        self.t0 = time.time()
        return self

    def __exit__(self, *exc):
        self.peak = torch.cuda.max_memory_allocated()
        self.seconds = time.time() - self.t0
