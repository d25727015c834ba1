import torch


def apart(points):
    gaps = points[:, None, :] - points[None, :, :]
    return torch.norm(gaps, dim=-1).mean()  # <-
