import torch as th

cuda = th.cuda


def benchmark(fn, sizes, dev=0):
    rows = []
    for n in sizes:
        cuda.reset_max_memory_cached(dev)
        fn(n)
        rows.append((n, cuda.max_memory_reserved(dev)))
    return rows
