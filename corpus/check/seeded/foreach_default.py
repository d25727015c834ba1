import torch


def build_optimizer(model, near_limit=True):
    model.to("cuda")
    return torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
