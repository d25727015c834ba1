import torch


def run(step, batch):
    failed = False
    try:
        return step(batch)
    except torch.OutOfMemoryError:
        failed = True
    if failed:
        torch.cuda.empty_cache()
        n = len(batch) // 2
        return step(batch[:n]), step(batch[n:])
