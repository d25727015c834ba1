# --- bad
import torch

def run(model, loader):
    for batch in loader:
        with torch.cuda.stream(torch.cuda.Stream()):
            model(batch.cuda(non_blocking=True)).sum().backward()
# --- good
import torch

def run(model, loader):
    side = torch.cuda.Stream()
    for batch in loader:
        with torch.cuda.stream(side):
            model(batch.cuda(non_blocking=True)).sum().backward()
# --- bad
import torch
from torch.cuda import Stream, stream

def prefetch(loader):
    for i, batch in enumerate(loader):
        side = Stream(priority=-1)
        with stream(side):
            yield batch.cuda(non_blocking=True)
# --- good
import torch
from torch.cuda import Stream, stream

def prefetch(loader):
    side = Stream(priority=-1)
    for i, batch in enumerate(loader):
        with stream(side):
            yield batch.cuda(non_blocking=True)
# --- silent
import torch

streams = [torch.cuda.Stream() for _ in range(4)]
# --- silent
import torch

def run(model, loader):
    side = None
    for batch in loader:
        if side is None:
            side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            model(batch.cuda()).sum().backward()
# --- silent
import torch

def run(model, loader):
    for batch in loader:
        torch.cuda.current_stream().synchronize()
        model(batch)
