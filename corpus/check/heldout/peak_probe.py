import torch


class PeakProbe:
    """Prints the peak of a block: with PeakProbe("forward"): ..."""

    def __init__(self, name, device=0):
        self.name, self.device = name, device

    def __enter__(self):
        torch.cuda.synchronize(self.device)
        torch.cuda.reset_max_memory_cached(self.device)
        return self

    def __exit__(self, *exc):
        torch.cuda.synchronize(self.device)
        alloc = torch.cuda.max_memory_allocated(self.device) / 2**20
        held = torch.cuda.max_memory_cached(self.device) / 2**20
        print(f"{self.name}: {alloc:.0f} MiB, {held:.0f} MiB held")
        return False


def profile(model, batch):
    with PeakProbe("forward"):
        out = model(batch)
    with PeakProbe("backward"):
        out.sum().backward()
