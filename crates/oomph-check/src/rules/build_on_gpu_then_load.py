# --- bad
import torch

model = Net().cuda()
model.load_state_dict(torch.load('model.pt', map_location='cuda'))
# --- good
import torch

model = Net().cuda()
model.load_state_dict(torch.load('model.pt', map_location='cpu', mmap=True))
# --- silent
import torch

with torch.device('meta'):
    model = Net()
model.load_state_dict(torch.load('model.pt', map_location='cuda'), assign=True)
