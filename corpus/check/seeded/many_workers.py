from torch.utils.data import DataLoader


def loaders(train, val):
    kw = dict(pin_memory=True)
    tr = DataLoader(train, batch_size=256, num_workers=32, prefetch_factor=8, **kw)
    va = DataLoader(val, batch_size=512, num_workers=4, **kw)
    return tr, va
