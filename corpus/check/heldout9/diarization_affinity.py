"""Spectral clustering front end: affinity between all segment embeddings."""
import sys

import numpy as np
import torch


def affinity(emb: torch.Tensor, sigma: float) -> torch.Tensor:
    n = emb.shape[0]
    left = emb.view(n, 1, -1).repeat(1, n, 1)
    right = emb.view(1, n, -1).repeat(n, 1, 1)
    gap = (left - right).square().sum(2)
    return torch.exp(-gap / (2 * sigma ** 2))


if __name__ == "__main__":
    emb = torch.from_numpy(np.load(sys.argv[1]).astype(np.float32)).cuda()  # 1500 x 256 for one hour
    with torch.no_grad():
        A = affinity(emb, 0.4)
    vals, vecs = torch.linalg.eigh(A)
    np.save(sys.argv[2], vecs[:, -8:].cpu().numpy())
