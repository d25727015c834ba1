import torch
from torch.profiler import ProfilerActivity, profile

from asr.train import build, one_step


def main():
    model, loader, opt = build("conf/small.yaml")
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        profile_memory=True,
        record_shapes=True,
        with_stack=True,
    ) as prof:
        for batch in loader:
            one_step(model, batch, opt)
    print(prof.key_averages().table(sort_by="cuda_memory_usage", row_limit=25))
    prof.export_chrome_trace("epoch.json")


if __name__ == "__main__":
    main()
