# --- bad
import torch

def report(step):
    used = torch.cuda.memory_allocated() / 2**20
    cached = torch.cuda.memory_cached() / 2**20
    print(f'{step}: {used:.0f} MB used, {cached:.0f} MB cached')
# --- good
import torch

def report(step):
    used = torch.cuda.memory_allocated() / 2**20
    reserved = torch.cuda.memory_reserved() / 2**20
    print(f'{step}: {used:.0f} MB used, {reserved:.0f} MB reserved')
# --- bad
from torch import cuda

def peak(run, batch):
    cuda.reset_max_memory_allocated()
    run(batch)
    return cuda.max_memory_cached(0)
# --- good
from torch import cuda

def peak(run, batch):
    cuda.reset_peak_memory_stats()
    run(batch)
    return cuda.max_memory_reserved(0)
# --- silent
import torch

if hasattr(torch.cuda, 'memory_reserved'):
    reserved = torch.cuda.memory_reserved()
else:
    reserved = torch.cuda.memory_cached()
# --- silent
import torch

try:
    reserved = torch.cuda.memory_reserved()
except AttributeError:
    reserved = torch.cuda.memory_cached()
# --- silent
class Store:
    def memory_cached(self):
        return len(self.items)

print(Store().memory_cached())
