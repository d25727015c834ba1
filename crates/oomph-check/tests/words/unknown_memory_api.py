from torch import cuda

def release(model):
    cuda.empty_memory()  # <-
# ---
import torch

print(torch.cuda.get_memory_allocated())  # <-
# ---
import torch

torch.cuda.memory.clear_gpu_cache()  # <-
# ---
import torch.cuda as tc

tc.purge_unused_memory()  # <-
