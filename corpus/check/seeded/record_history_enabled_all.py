import torch


class SnapshotCallback:
    def __init__(self, out):
        self.out = out

    def on_fit_start(self, trainer, module):
        torch.cuda.memory._record_memory_history(enabled="all", context="all")

    def on_fit_end(self, trainer, module):
        torch.cuda.memory._dump_snapshot(self.out)
