# --- bad
import torch

def prefetch(loader, side):
    for batch in loader:
        with torch.cuda.stream(side):
            batch = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        batch.record_stream(torch.cuda.current_stream())
        yield batch
# --- good
import torch

def prefetch(loader, side):
    last = None
    for batch in loader:
        with torch.cuda.stream(side):
            batch = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        yield batch
        last = batch
# --- bad
import torch

class Prefetcher:
    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        x = self.next_input
        x.record_stream(torch.cuda.current_stream())
        self.preload()
        return x
# --- good
import torch

class Prefetcher:
    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        self.current, x = self.next_input, self.next_input
        self.preload()
        return x
# --- silent
import torch

def hand_over(x, stream):
    x.record_stream(stream)
    return x
