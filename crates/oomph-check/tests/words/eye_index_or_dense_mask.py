import torch
CLASSES = 150
def rows(mask):
    return torch.eye(CLASSES, device="cuda")[mask].permute(0, 3, 1, 2)  # <-
def label(y):
    return torch.eye(CLASSES, device="cuda")[y]
