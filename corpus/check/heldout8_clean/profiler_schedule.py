from torch.profiler import profile, schedule


def profiled(step, loader, out):
    sched = schedule(wait=2, warmup=2, active=3, repeat=1)
    with profile(schedule=sched, profile_memory=True, on_trace_ready=lambda p: p.export_chrome_trace(out)) as prof:
        for i, batch in enumerate(loader):
            if i == 10:
                break
            step(batch)
            prof.step()
