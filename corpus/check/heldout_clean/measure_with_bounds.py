import torch
from torch.profiler import ProfilerActivity, profile, schedule


def profile_some(model, loader, opt, out="trace"):
    torch.cuda.memory._record_memory_history(max_entries=50_000, stacks="python")
    plan = schedule(wait=2, warmup=2, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CUDA], schedule=plan, profile_memory=True) as prof:
        for step, (x, y) in enumerate(loader):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            opt.step()
            prof.step()
            if step == 10:
                break
    torch.cuda.memory._dump_snapshot(f"{out}.pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
    torch.cuda.reset_peak_memory_stats()
