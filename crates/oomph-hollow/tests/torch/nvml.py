"""NVML by the name that programs open it by."""

import ctypes

import torch

nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
count = ctypes.c_uint()
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 1
handle = ctypes.c_void_p()
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
memory = (ctypes.c_ulonglong * 3)()
assert nvml.nvmlDeviceGetMemoryInfo(handle, memory) == 0
free, total = torch.cuda.mem_get_info()
assert list(memory) == [total, free, total - free]
name = ctypes.create_string_buffer(96)
assert nvml.nvmlDeviceGetName(handle, name, 96) == 0
assert name.value.decode() == torch.cuda.get_device_name()
assert nvml.nvmlDeviceGetName(handle, name, 3) == 7
assert torch.cuda.device_count() == 1
