"""Training under a recorded history of the allocator; without a GPU the recording itself may be refused."""

import torch

torch.manual_seed(0)


def record():
    try:
        torch.cuda.memory._record_memory_history(context="all", stacks="python")
    except (AssertionError, RuntimeError) as error:
        return type(error).__name__
    return "recording"


print(record())
model = torch.nn.Linear(8, 4)
for step in range(3):
    loss = model(torch.randn(16, 8)).pow(2).mean()
    loss.backward()
    print(step, f"{loss.item():.6f}", f"{model.weight.grad.sum().item():.6f}")
