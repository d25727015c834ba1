import torch


def record(fn, out):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        fn()
    finally:
        torch.cuda.memory._dump_snapshot(out)
        torch.cuda.memory._record_memory_history(enabled=None)
