import numpy as np
import torch


def noise_batch(n, size):
    z = torch.from_numpy(np.random.rand(n, 3, size, size)).cuda()
    return z


def labels(arr):
    w = np.ones(1000) / 1000
    return torch.tensor(w).cuda()
