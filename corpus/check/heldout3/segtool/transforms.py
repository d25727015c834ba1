import numpy as np
import torch
from torchvision.transforms import functional as TF


def _pair(image, mask, size):
    image = TF.resize(image, [size, size])
    mask = TF.resize(mask, [size, size], interpolation=TF.InterpolationMode.NEAREST)
    image = TF.normalize(TF.to_tensor(image), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    return image, torch.as_tensor(np.array(mask), dtype=torch.int64)


def train_pair(image, mask):
    if torch.rand(()) < 0.5:
        image, mask = TF.hflip(image), TF.hflip(mask)
    return _pair(image, mask, 480)


def eval_pair(image, mask):
    return _pair(image, mask, 520)
