import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from tabular import HiggsParquet, ResNetTabular


def fit(epochs=30, batch=4096, device="cuda"):
    loader = DataLoader(HiggsParquet("/data/higgs"), batch, shuffle=True, num_workers=8)
    t = time.time()
    cached = [(x.to(device), y.to(device)) for x, y in loader]
    print(f"loaded {len(cached)} batches in {time.time() - t:.0f}s")

    net = ResNetTabular(28, width=512, depth=6).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    norms = []
    for epoch in range(epochs):
        order = torch.randperm(len(cached)).tolist()
        for i in order:
            x, y = cached[i]
            loss = F.binary_cross_entropy_with_logits(net(x).squeeze(1), y.float())
            opt.zero_grad()
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0))
            opt.step()
        print(epoch, loss.item(), torch.stack(norms[-len(cached):]).mean().item())
    return net


if __name__ == "__main__":
    torch.save(fit().state_dict(), "higgs.pt")
