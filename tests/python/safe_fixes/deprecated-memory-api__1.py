"""Training that reports its memory by the old names."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def used():
    return torch.cuda.memory_allocated(), torch.cuda.memory_cached(), torch.cuda.max_memory_cached()


for step in range(3):
    loss = model(torch.randn(16, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}", used())
