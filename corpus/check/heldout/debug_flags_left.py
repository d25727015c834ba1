import torch
from torch.profiler import ProfilerActivity, profile

torch.autograd.set_detect_anomaly(True)


def train_epoch(model, loader, opt, crit):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as prof:
        for x, y in loader:
            loss = crit(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
    prof.export_chrome_trace("trace.json")


def main(model, loader, opt, crit, epochs=10):
    for _ in range(epochs):
        train_epoch(model, loader, opt, crit)
