import os

import torch

from nets import Small
from settings import config


def finetune(path):
    net = Small().cuda()
    net.load_state_dict(torch.load(path))
    return net


path = os.path.join(config.get("data", "folder"), config.get("files", "pruned"))
finetune(path)
