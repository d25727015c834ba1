import torch
from torch.cuda.memory import _dump_snapshot, _record_memory_history


class MemoryProfiler:
    def start(self):
        _record_memory_history("all", stacks="all")

    def stop(self, rank):
        _dump_snapshot(f"rank{rank}.pickle")


def train(model, loader, opt):
    prof = MemoryProfiler()
    prof.start()
    for step, batch in enumerate(loader):
        loss = model(batch.cuda())
        loss.backward()
        opt.step()
        opt.zero_grad()
    prof.stop(0)
