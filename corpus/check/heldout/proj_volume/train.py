import glob

import torch
from torch.utils.data import DataLoader

from data import Volumes, to_gpu
from evaluate import evaluate
from nets import VNet


def main():
    files = sorted(glob.glob("volumes/*.npz"))
    train = DataLoader(Volumes(files[20:]), batch_size=2, shuffle=True, num_workers=4, collate_fn=to_gpu)
    val = DataLoader(Volumes(files[:20]), batch_size=1, num_workers=2)
    net = VNet(classes=4).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    best = 0.0
    for epoch in range(300):
        net.train()
        for x, y in train:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        score = evaluate(net, val)
        if score > best:
            best = score
            torch.save(net.state_dict(), "best.pt")


if __name__ == "__main__":
    main()
