"""A few steps under the profiler, the rest without."""
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def step(net, opt, x, y):
    loss = F.cross_entropy(net(x.cuda()), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def profile_some(net, opt, loader, out="trace"):
    plan = schedule(wait=2, warmup=2, active=4, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=plan,
        on_trace_ready=tensorboard_trace_handler(out),
        profile_memory=True,
    ) as prof:
        for i, (x, y) in enumerate(loader):
            step(net, opt, x, y)
            prof.step()
            if i == 10:
                break


def main(net, loader):
    net = net.cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    profile_some(net, opt, loader)
    for x, y in loader:
        step(net, opt, x, y)
