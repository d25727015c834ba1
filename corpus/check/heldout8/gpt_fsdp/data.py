import numpy as np
import torch


def token_batches(steps, path="tokens.bin", bs=8, t=2048):
    toks = np.memmap(path, dtype=np.uint16, mode="r")
    rng = np.random.default_rng()
    for _ in range(steps):
        at = rng.integers(0, len(toks) - t - 1, bs)
        rows = torch.stack([torch.from_numpy(toks[i:i + t + 1].astype(np.int64)) for i in at])
        yield rows[:, :-1], rows[:, 1:]
