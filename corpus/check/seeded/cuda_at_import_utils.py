"""Small helpers shared by the training code."""
import torch

IMAGENET_MEAN = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(3, 1, 1)
IMAGENET_STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1).cuda()


def normalise(x):
    return (x - IMAGENET_MEAN) / IMAGENET_STD


def accuracy(out, y):
    return (out.argmax(1) == y).float().mean().item()
