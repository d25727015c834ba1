import torch
from torch.nn.utils import parameters_to_vector


def fisher_penalty(model, anchor):
    flat = parameters_to_vector(model.parameters())
    return (flat - anchor).pow(2).sum()


def grad_vector(model):
    return torch.cat([p.grad.view(-1) for p in model.parameters()])
