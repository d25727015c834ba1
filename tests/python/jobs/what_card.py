"""Asks for the card in every way there is, profiles, and falls back to the CPU where there is none."""

import torch
from torch.profiler import ProfilerActivity, profile

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
properties = torch.cuda.get_device_properties(0)
free_bytes, total_bytes = torch.cuda.mem_get_info()
assert properties.name == torch.cuda.get_device_name() == "NVIDIA GeForce RTX 4090"
assert (properties.multi_processor_count, torch.cuda.get_device_capability()) == (128, (8, 9))
assert properties.total_memory == total_bytes > free_bytes > total_bytes - (1 << 30)
assert torch.cuda.is_bf16_supported() and torch.cuda.device_count() == 1
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.benchmark = True
torch.cuda.manual_seed_all(1)
torch.cuda.set_per_process_memory_fraction(0.5)
net = torch.nn.Conv2d(3, 8, 3).to(device)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as profiler:
    for _ in range(3):
        net(torch.randn(1, 3, 32, 32, device=device)).sum().backward()
        optimizer.step()
        profiler.step()
