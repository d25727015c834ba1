"""Profilers, NVTX marks and the vendor's own runtime, which finds a driver that it cannot use and says so."""

import ctypes
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

x = torch.randn(100, 100, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as profiler:
    (x @ x).sum()
assert any(event.key == "aten::mm" for event in profiler.key_averages())
torch.cuda.nvtx.range_push("a")
torch.cuda.nvtx.mark("b")
torch.cuda.nvtx.range_pop()
torch.cuda.cudart().cudaProfilerStart()
torch.cuda.cudart().cudaProfilerStop()

# A program with a runtime of its own inside (cuDNN's engines have one) must get an error, and live.
for folder in map(Path, sys.path):
    for library in folder.glob("nvidia/*/lib/libcudart.so.*"):
        runtime = ctypes.CDLL(str(library))
        count, address = ctypes.c_int(), ctypes.c_void_p()
        assert runtime.cudaGetDeviceCount(ctypes.byref(count)) != 0
        assert runtime.cudaMalloc(ctypes.byref(address), 1 << 20) != 0
