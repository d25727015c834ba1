# --- bad
import torch

def release():
    torch.empty_cache()
# --- good
import torch

def release():
    torch.cuda.empty_cache()
# --- silent
import torch

torch.cuda.memory.empty_cache()
torch.cuda.memory.reset_peak_memory_stats()
torch.clear_autocast_cache()
# --- silent
import torch

if hasattr(torch.cuda, 'clear_cache'):
    torch.cuda.clear_cache()
# --- silent
from my_shims import torch

torch.empty_cache()
