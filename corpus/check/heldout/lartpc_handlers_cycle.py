import itertools
from types import SimpleNamespace

from torch.utils.data import DataLoader


def make_handlers(cfg, dataset, collate):
    h = SimpleNamespace(cfg=cfg)
    h.data_io = DataLoader(
        dataset,
        batch_size=cfg["minibatch"],
        shuffle=cfg["shuffle"],
        num_workers=cfg["workers"],
        collate_fn=collate,
    )
    h.data_io_iter = iter(itertools.cycle(h.data_io))
    return h


def inference_loop(handlers, trainer, iterations):
    for _ in range(iterations):
        trainer.forward(next(handlers.data_io_iter))
