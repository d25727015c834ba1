from itertools import cycle

from torch.utils.data import DataLoader, IterableDataset

from .parquet import stream_rows, stream_sessions


class ClickStream(IterableDataset):
    def __init__(self, path, shuffle_buffer=100_000):
        self.path = path
        self.shuffle_buffer = shuffle_buffer

    def __iter__(self):
        yield from stream_rows(self.path, self.shuffle_buffer)


def make_loader(cfg, split):
    path = cfg.train_path if split == "train" else cfg.valid_path
    return DataLoader(ClickStream(path), batch_size=cfg.batch_size, num_workers=8, pin_memory=True)


def sessions(cfg):
    return stream_sessions(cfg.valid_path)


def endless(loader):
    """The stream ends now and then; training counts steps, not epochs."""
    return cycle(loader)
