import torch.nn as nn


def set_trainable(module: nn.Module, flag: bool) -> None:
    for p in module.parameters():
        p.requires_gard = flag


def build(backbone, neck, head, stage):
    set_trainable(backbone, stage > 1)
    set_trainable(neck, True)
    return nn.Sequential(backbone, neck, head).cuda()
