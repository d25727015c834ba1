import os

import torch

from nets import Small
from settings import config

net = Small().cuda()
for step in range(1000):
    net.step()
torch.save(net.state_dict(), os.path.join(config.get("data", "folder"), config.get("files", "trained")))
