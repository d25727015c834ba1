"""class: outside_pytorch
cap_mib: 3000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=1024, depth=6, classes=10):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


import ctypes
import glob
import os

pattern = os.path.dirname(torch.__file__) + "/../nvidia/cu13/lib/libcudart.so.13"
rt = ctypes.CDLL((glob.glob(pattern) or ["libcudart.so.13"])[0])
torch.cuda.set_per_process_memory_fraction(1.0)
torch.zeros(1, device="cuda")
free, _ = torch.cuda.mem_get_info()
p = ctypes.c_void_p()
rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(free - 3000 * 2**20))
model = Net(2048, 8).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    x = torch.randn(65536, 2048, device="cuda")
    opt.zero_grad()
    model(x).mean().backward()
    opt.step()
