import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def look(net, loader, opt, crit, logdir):
    plan = schedule(wait=5, warmup=2, active=3, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=plan,
        on_trace_ready=tensorboard_trace_handler(logdir),
        profile_memory=True,
    ) as prof:
        for i, (x, y) in enumerate(loader):
            opt.zero_grad()
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()
            prof.step()
            if i == 12:
                break
