"""Post-processing in a thread pool: the futures are kept in a list 'to wait for them', and so are their results."""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn

device = "cuda"


def smooth(heat):
    """5-point box filter over the heatmaps."""
    out = heat.astype(np.float64)  # leak
    out[:, 1:-1] = (out[:, :-2] + out[:, 1:-1] + out[:, 2:]) / 3
    return out


class KeypointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 48 * 48)

    def forward(self, x):
        return self.fc(x).view(-1, 48, 48)


def run(steps):
    net = KeypointNet().to(device).eval()
    futures = []
    with ThreadPoolExecutor(max_workers=1) as pool, torch.inference_mode():
        for step in range(steps):
            heat = net(torch.randn(160, 64, device=device)).cpu().numpy()
            fut = pool.submit(smooth, heat)  # leak
            futures.append(fut)  # leak
            done = sum(f.done() for f in futures)
            peak = fut.result().max()
            print(f"step {step}: peak {peak:.3f}, {done} done")


run(int(os.environ.get("STEPS", 60)))
