import numpy as np
import torch


@torch.no_grad()
def blocks_of(room, size=1.0, stride=0.5):
    lo, hi = room[:, :3].min(0).values, room[:, :3].max(0).values
    for x in np.arange(lo[0].item(), hi[0].item(), stride):
        for y in np.arange(lo[1].item(), hi[1].item(), stride):
            keep = (room[:, 0] >= x) & (room[:, 0] < x + size) & (room[:, 1] >= y) & (room[:, 1] < y + size)
            if keep.sum() > 100:
                yield keep.nonzero().squeeze(1)


def vote_room(net, room, classes=13, votes=3):
    """Sum the class scores of overlapping blocks, several times over."""
    net.eval()
    pool = torch.zeros(room.size(0), classes, device=room.device)
    for _ in range(votes):
        for idx in blocks_of(room):
            scores = net(room[idx].t().unsqueeze(0)).squeeze(0).t()
            pool[idx] = pool[idx] + scores
    return pool.argmax(1)


def main(files, net):
    per_room = {}
    for f in files:
        room = torch.from_numpy(np.load(f).astype(np.float32)).cuda()
        pred = vote_room(net, room)
        per_room[f] = pred.cpu().numpy()
    return per_room
