"""Debug helpers that are off unless asked for on the command line."""
import argparse

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--debug-nan", action="store_true")
    p.add_argument("--profile", action="store_true")
    return p.parse_args()


def step(net, opt, x, y):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
    loss.backward()
    opt.step()
    return loss.item()


def main(net, loader):
    args = options()
    if args.debug_nan:
        torch.autograd.set_detect_anomaly(True)
    net.cuda().train()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    if args.profile:
        with profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            schedule=schedule(wait=5, warmup=2, active=3, repeat=1),
            on_trace_ready=tensorboard_trace_handler("traces"),
            profile_memory=True,
        ) as prof:
            for i, (x, y) in enumerate(loader):
                step(net, opt, x, y)
                prof.step()
                if i == 12:
                    break
    for x, y in loader:
        value = step(net, opt, x, y)
    print(value)
