import torch


class Prefetcher:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for x, y in self.loader:
            s = torch.cuda.Stream()
            with torch.cuda.stream(s):
                x = x.cuda(non_blocking=True)
                y = y.cuda(non_blocking=True)
            torch.cuda.current_stream().wait_stream(s)
            x.record_stream(torch.cuda.current_stream())
            yield x, y
