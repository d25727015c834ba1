import torch.nn.functional as F


def dice_bce(logits, target, smooth=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum()
    dice = 1 - (2 * inter + smooth) / (p.sum() + target.sum() + smooth)
    return dice + F.binary_cross_entropy_with_logits(logits, target)
