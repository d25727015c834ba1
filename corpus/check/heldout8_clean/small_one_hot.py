import torch
import torch.nn.functional as F


def dice_loss(logits, target):
    probs = logits.softmax(1)
    hot = F.one_hot(target, 4).movedim(-1, 1).to(probs.dtype)
    inter = (probs * hot).sum((2, 3))
    return 1 - (2 * inter / (probs.sum((2, 3)) + hot.sum((2, 3)) + 1e-6)).mean()
