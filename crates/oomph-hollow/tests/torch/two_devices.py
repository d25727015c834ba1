"""Two cards: a device for each thread, memory counted on each, copies between them."""

import threading

import torch

assert torch.cuda.device_count() == 2
assert torch.cuda.get_device_name(0) != torch.cuda.get_device_name(1)
MIB = 1 << 20
a = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda:0")
b = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda:1")
assert torch.cuda.memory_allocated(0) == 64 * MIB
assert torch.cuda.memory_allocated(1) == 32 * MIB
assert torch.cuda.can_device_access_peer(0, 1)
c = a.to("cuda:1")
assert torch.cuda.memory_allocated(1) == 96 * MIB
total = torch.cuda.get_device_properties(1).total_memory
assert torch.cuda.mem_get_info(1)[1] == total

with torch.cuda.device(1):
    assert torch.cuda.current_device() == 1
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_device()))
    thread.start()
    thread.join()
    assert seen == [0], "a thread begins on the first device"
assert torch.cuda.current_device() == 0

model = torch.nn.DataParallel(torch.nn.Linear(10, 10).cuda())
model(torch.randn(8, 10, device="cuda")).sum().backward()
try:
    torch.empty(total, dtype=torch.uint8, device="cuda:1")
except torch.OutOfMemoryError as error:
    assert "GPU 1" in str(error), error
else:
    raise SystemExit("no error")
