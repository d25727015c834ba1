import torch
import torch.distributed as dist


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    local = []
    for x, y in loader:
        local.append((net(x.to(device)), y.to(device)))
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, local)
    right = sum((l.argmax(1).cpu() == t.cpu()).sum().item() for part in everyone for l, t in part)
    total = sum(len(t) for part in everyone for _, t in part)
    return right / total
