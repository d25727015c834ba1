import gc

import torch as th


def wipe(*objs):
    for o in objs:
        if hasattr(o, "cpu"):
            o.cpu()
    gc.collect()
    th.empty_cache()


def limit(share):
    th.cuda.set_memory_fraction(share)
    free, total = th.cuda.mem_get_info()
    return free / total


def main():
    print(limit(0.5))
    wipe(th.nn.Linear(10, 10).cuda())


main()
