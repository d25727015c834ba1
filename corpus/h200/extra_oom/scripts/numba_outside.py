"""class: outside_pytorch
cap_mib: 6000
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
free, _ = torch.cuda.mem_get_info()
p = ctypes.c_void_p()
rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(free - 6000 * 2**20))
xs = []
for i in range(100):
    xs.append(model(torch.randn(65536, 4096, device="cuda")).detach())
