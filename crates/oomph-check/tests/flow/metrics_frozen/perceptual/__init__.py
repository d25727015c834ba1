from .net import Distance


def distance(x, y):
    return Distance().to(x.device)(x, y)
