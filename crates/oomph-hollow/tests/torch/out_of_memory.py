"""What does not fit raises PyTorch's own error, at the line that asked, with the right numbers. The card has 8 GiB."""

import traceback

import torch

GIB = 1 << 30
kept = [torch.empty(GIB, dtype=torch.uint8, device="cuda") for _ in range(6)]
try:
    kept.append(torch.empty(3 * GIB, dtype=torch.uint8, device="cuda"))  # here
except torch.OutOfMemoryError as error:
    message, frame = str(error), traceback.extract_tb(error.__traceback__)[-1]
else:
    raise SystemExit("no error")
assert "Tried to allocate 3.00 GiB" in message, message
assert "total capacity of 8.00 GiB of which 1.50 GiB is free" in message, message
assert "this process has 6.50 GiB memory in use" in message, message
assert "6.00 GiB is allocated by PyTorch" in message, message
assert frame.line.endswith("# here"), frame
assert torch.cuda.memory_stats()["num_ooms"] == 1

# The allocator gives its caches back and tries again, as on a card.
del kept[:]
torch.empty(7 * GIB, dtype=torch.uint8, device="cuda")
assert torch.cuda.memory_stats()["num_alloc_retries"] >= 1

# The error leaves nothing behind that a later call would trip over.
torch.cuda.synchronize()
assert torch.zeros(10, device="cuda").sum().item() == 0
