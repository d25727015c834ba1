"""Things done by hand: a prefetching stream, checkpointed segments, the profiler, per-sample gradients, DataParallel."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.data import DataLoader, TensorDataset


class Prefetcher:
    def __init__(self, loader):
        self.loader, self.stream = iter(loader), torch.cuda.Stream()
        self.load()

    def load(self):
        self.batch = next(self.loader, None)
        if self.batch is not None:
            with torch.cuda.stream(self.stream):
                self.batch = [part.cuda(non_blocking=True) for part in self.batch]

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        for part in batch or ():
            part.record_stream(torch.cuda.current_stream())
        self.load()
        return batch


net = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
loader = DataLoader(TensorDataset(torch.randn(128, 256)), batch_size=64, num_workers=2, pin_memory=True)
activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True, schedule=schedule(wait=0, warmup=1, active=1)) as profiler:
    prefetcher = Prefetcher(loader)
    while (batch := prefetcher.next()) is not None:
        checkpoint_sequential(net, 2, batch[0], use_reentrant=False).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()
profiler.export_chrome_trace("trace.json")


def loss(weights, sample):
    return functional_call(net[0], weights, (sample.unsqueeze(0),)).square().mean()


gradients = vmap(grad(loss), in_dims=(None, 0))(dict(net[0].named_parameters()), torch.randn(16, 256, device="cuda"))
assert gradients["0.weight"].shape == (16, 256, 256)
assert torch.cuda.device_count() == 2
nn.DataParallel(net)(torch.randn(32, 256, device="cuda")).sum().backward()
optimizer.step()
assert torch.cuda.memory_allocated(1) > 0
