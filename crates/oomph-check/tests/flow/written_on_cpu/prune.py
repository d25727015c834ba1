import os

import torch

from nets import Small, shrink
from settings import config

device = "cpu"
small = shrink(Small(), config.getfloat("prune", "ratio"))
torch.save(small.state_dict(), os.path.join(config.get("data", "folder"), config.get("files", "pruned")))
