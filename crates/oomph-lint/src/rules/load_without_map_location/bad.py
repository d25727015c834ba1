import torch
from torch import nn

net = nn.Linear(8, 2).cuda()
net.load_state_dict(torch.load("a.pt"))  # bad
