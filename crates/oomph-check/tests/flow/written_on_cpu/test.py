import os

import torch

from nets import Small
from settings import config


def test(path):
    net = Small().cuda()
    net.load_state_dict(torch.load(path))  # <- load-without-map-location
    return net


path = os.path.join(config.get("data", "folder"), config.get("files", "trained"))
test(path)
