import os
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def wrap(model):
    place = int(os.environ["LOCAL_RANK"])
    model = model.to(place)
    return FSDP(model, device_id=place)  # <-
# ---
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def wrap(build):
    card = dist.get_rank() % torch.cuda.device_count()
    net = build()
    net.to(card)
    return FSDP(net)  # <-
# ---
import os
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
class Job:
    def __init__(self):
        self.where = int(os.getenv("LOCAL_RANK", 0))
    def wrap(self, net, other):
        net = net.to(self.where)
        other = other.to(torch.bfloat16)
        return FSDP(net), FSDP(other)  # <-
