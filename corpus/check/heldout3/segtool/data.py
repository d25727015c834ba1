from torch.utils.data import DataLoader
from torchvision.datasets import VOCSegmentation

from segtool.transforms import eval_pair, train_pair


def make_loaders(root, batch_size):
    train = VOCSegmentation(root, image_set="train", transforms=train_pair)
    val = VOCSegmentation(root, image_set="val", transforms=eval_pair)
    kw = dict(num_workers=8, pin_memory=True)
    return DataLoader(train, batch_size, shuffle=True, drop_last=True, **kw), DataLoader(val, 1, **kw)
