import torch
from torch.profiler import ProfilerActivity, profile, schedule


def traced(model, loader, opt):
    sched = schedule(wait=1, warmup=1, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CUDA], schedule=sched, profile_memory=True) as prof:
        for x in loader:
            loss = model(x.cuda()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            prof.step()
