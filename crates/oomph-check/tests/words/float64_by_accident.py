import numpy as np
import torch

edges = torch.from_numpy(np.linspace(-1, 1, 30)).cuda()  # <-


def rounded(x):
    return edges[torch.bucketize(x, edges) - 1]
# ---
import numpy as np
import torch


def weighted(loss, length):
    weights = torch.tensor(np.ones((1, length))).to("cuda")  # <-
    total = torch.zeros(1, length)
    total.copy_(weights)
    return loss * weights
# ---
import numpy as np
import torch


def moved(points):
    return points + torch.tensor(np.array([0.0, 0.5, 2.0]), device="cuda")  # <-
# ---
import numpy as np
import torch
def table(path):
    rows = np.loadtxt(path, delimiter=";")
    return torch.from_numpy(rows).to("cuda")  # <-
def scan(image, net):
    voxels = torch.as_tensor(image.get_fdata()).cuda()  # <-
    return net(voxels)
