# --- bad
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def accumulate(model, batches):
    model = FSDP(model)
    with model.no_sync():
        for batch in batches:
            model(batch).sum().backward()
# --- good
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def accumulate(model, batches):
    model = FSDP(model)
    for batch in batches:
        model(batch).sum().backward()
# --- silent
from torch.nn.parallel import DistributedDataParallel as DDP

def accumulate(model, batches):
    model = DDP(model)
    with model.no_sync():
        for batch in batches:
            model(batch).sum().backward()
