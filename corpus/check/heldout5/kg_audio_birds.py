import random
import torch
import torch.nn.functional as F
from itertools import cycle
from torch.utils.data import DataLoader
from birds import FocalDataset, SoundscapeDataset, build_net


def mixup(x, y, a=0.4):
    lam = random.betavariate(a, a)
    idx = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[idx], lam * y + (1 - lam) * y[idx]


def main(steps_per_epoch=2000, epochs=30):
    focal = DataLoader(FocalDataset("train_audio"), batch_size=48, shuffle=True, num_workers=8)
    scapes = DataLoader(SoundscapeDataset("train_soundscapes"), batch_size=16, shuffle=True, num_workers=4)
    net = build_net(264).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, total_steps=steps_per_epoch * epochs)
    pairs = zip(focal, cycle(scapes))
    grad_norms = []
    step = 0
    for (xa, ya), (xb, yb) in pairs:
        x, y = mixup(torch.cat([xa, xb]).cuda(), torch.cat([ya, yb]).cuda())
        loss = F.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        grad_norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0))
        opt.step()
        sched.step()
        step += 1
        if step % 100 == 0:
            print(step, loss.item(), grad_norms[-1].item())
    torch.save(net.state_dict(), "birds.pt")


if __name__ == "__main__":
    main()
