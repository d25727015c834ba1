import torch


class Prefetcher:
    def __init__(self, loader):
        self.it = iter(loader)
        self.stream = torch.cuda.Stream()
        self.load()

    def load(self):
        self.batch = next(self.it, None)
        if self.batch is not None:
            with torch.cuda.stream(self.stream):
                self.batch = self.batch.cuda(non_blocking=True)

    def __next__(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        b = self.batch
        if b is None:
            raise StopIteration
        self.load()
        return b

    def __iter__(self):
        return self
