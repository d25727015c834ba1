# --- bad
import torch

model = torch.nn.Linear(4096, 4096)
optimizer = torch.optim.LBFGS(model.parameters(), lr=1)
# --- good
import torch

model = torch.nn.Linear(4096, 4096)
optimizer = torch.optim.LBFGS(model.parameters(), lr=1, history_size=10)
# --- silent
import torch

image = torch.zeros(1, 3, 64, 64, requires_grad=True)
optimizer = torch.optim.LBFGS([image])
# --- silent
import torch

optimizer = torch.optim.LBFGS(model.parameters(), history_size=size)
