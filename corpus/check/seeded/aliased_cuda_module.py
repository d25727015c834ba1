from torch import cuda
import torch as t


def reset_between_runs(model):
    del model
    t.empty_cache()


def usage():
    return cuda.memory_used()
