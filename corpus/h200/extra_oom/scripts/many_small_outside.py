"""class: none
cap_mib: 2000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import ctypes
import glob
import os

pattern = os.path.dirname(torch.__file__) + "/../nvidia/cu13/lib/libcudart.so.13"
rt = ctypes.CDLL((glob.glob(pattern) or ["libcudart.so.13"])[0])
torch.cuda.set_per_process_memory_fraction(1.0)
model = nn.Linear(4096, 4096).cuda()
held = []
while torch.cuda.mem_get_info()[0] > 2000 * 2**20:
    p = ctypes.c_void_p()
    rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(min(1 << 30, torch.cuda.mem_get_info()[0] - 1990 * 2**20)))
    held.append(p)
opt = torch.optim.Adam(model.parameters())
for step in range(5):
    model(torch.randn(32768, 4096, device="cuda")).mean().backward()
    opt.step()
