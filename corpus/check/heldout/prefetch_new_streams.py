import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:128,expandable_segments:True"

import torch


def prefetch(loader, device="cuda"):
    ready = None
    for batch in loader:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            batch = batch.pin_memory()
            moved = batch.to(device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        if ready is not None:
            yield ready
        ready = moved
    yield ready
