# --- bad
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
# --- good
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
# --- silent
import torch

model = torch.nn.Linear(4096, 4096)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
# --- silent
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
# --- silent
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters(), **options)
