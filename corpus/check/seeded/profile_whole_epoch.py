import torch
from torch.profiler import ProfilerActivity, profile


def traced_epoch(model, loader, opt):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 profile_memory=True, record_shapes=True, with_stack=True) as prof:
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            opt.step()
    prof.export_chrome_trace("trace.json")
