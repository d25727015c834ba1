import torch
from torch.profiler import ProfilerActivity, profile, record_function


def profiled_fit(model, loader, opt, crit, out="trace.json"):
    acts = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=acts, profile_memory=True, record_shapes=True, with_stack=True) as prof:
        for step, (x, y) in enumerate(loader):
            with record_function("step"):
                opt.zero_grad()
                loss = crit(model(x.cuda()), y.cuda())
                loss.backward()
                opt.step()
            if step % 100 == 0:
                print(step, loss.item())
    prof.export_chrome_trace(out)
    print(prof.key_averages().table(sort_by="self_cuda_memory_usage", row_limit=20))


def main():
    from mylib.presets import imagenet_preset

    model, loader, opt, crit = imagenet_preset()
    profiled_fit(model.cuda(), loader, opt, crit)


if __name__ == "__main__":
    main()
