import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def fit(model, loader, opt, crit, trace_dir=None):
    prof = None
    if trace_dir:
        prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                       schedule=schedule(wait=5, warmup=2, active=3, repeat=1),
                       on_trace_ready=tensorboard_trace_handler(trace_dir))
        prof.start()
    for x, y in loader:
        opt.zero_grad()
        loss = crit(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        if prof is not None:
            prof.step()
    if prof is not None:
        prof.stop()
