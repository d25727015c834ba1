import gc
import torch
from models import Stage1, Stage2
from engine import Engine


def main(loader):
    first = Stage1().cuda()
    engine = Engine(first, loader)
    engine.fit()
    encoder = first.encoder

    # make room for the second stage
    del first
    gc.collect()
    torch.cuda.empty_cache()

    second = Stage2().cuda()
    Engine(second, loader).fit()
    print(sum(p.numel() for p in encoder.parameters()), engine.best)


main(None)
