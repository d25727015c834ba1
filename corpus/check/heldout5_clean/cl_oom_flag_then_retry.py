import torch


def run_with_smaller_batches(fn, items, size=64, floor=1):
    """Calls fn on chunks; after an OOM goes on with half the chunk size."""
    out, at = [], 0
    while at < len(items):
        too_big = False
        try:
            res = fn(items[at:at + size])
        except torch.OutOfMemoryError:
            too_big = True
        if too_big:
            if size <= floor:
                raise MemoryError("one item does not fit")
            torch.cuda.empty_cache()
            size = max(floor, size // 2)
            continue
        out.extend(res)
        at += size
    return out
