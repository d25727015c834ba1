import torch

class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.batch = None

    def preload(self):
        self.batch = next(self.loader, None)
        if self.batch is None:
            return
        self.stream = torch.cuda.Stream()  # <-
        with torch.cuda.stream(self.stream):
            self.batch = [t.cuda(non_blocking=True) for t in self.batch]

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        self.preload()
        return batch


def train(model, loader, opt):
    fetcher = Prefetcher(loader)
    fetcher.preload()
    batch = fetcher.next()
    while batch is not None:
        loss = model(*batch)
        loss.backward()
        opt.step()
        opt.zero_grad()
        batch = fetcher.next()
# ---
import torch
from torch import nn


def copy_async(batch, device):
    s = torch.cuda.Stream(device=device)  # <-
    with torch.cuda.stream(s):
        out = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
    torch.cuda.current_stream().wait_stream(s)
    return out


def main(model, loader, optimizer):
    device = torch.device('cuda:0')
    for step, batch in enumerate(loader):
        batch = copy_async(batch, device)
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# ---
import torch
import queue


def worker(model, requests, results):
    model = model.cuda().eval()
    while True:
        item = requests.get()
        if item is None:
            break
        stream = torch.cuda.Stream()  # <-
        with torch.no_grad(), torch.cuda.stream(stream):
            y = model(item['image'].cuda(non_blocking=True))
        stream.synchronize()
        results.put(y.cpu())
# ---
import torch as th
from fastapi import FastAPI

app = FastAPI()
net = th.jit.load('net.pt').cuda().eval()


@app.post('/predict')
def predict(payload: dict):
    x = th.tensor(payload['x'])
    with th.inference_mode():
        with th.cuda.stream(th.cuda.Stream()):  # <-
            y = net(x.cuda())
            th.cuda.current_stream().synchronize()
    return {'y': y.cpu().tolist()}
# ---
import torch
from contextlib import contextmanager


@contextmanager
def side_stream():
    stream = torch.cuda.Stream(priority=-1)  # <-
    with torch.cuda.stream(stream):
        yield stream
    torch.cuda.current_stream().wait_stream(stream)


def fit(model, data_loader, opt, loss_fn):
    for epoch in range(10):
        for x, y in data_loader:
            with side_stream():
                x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            opt.zero_grad()
            loss_fn(model(x), y).backward()
            opt.step()
# ---
import torch
import lightning as L


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        x, y = batch
        side = torch.cuda.Stream()  # <-
        with torch.cuda.stream(side):
            target = self.net.encode_target(y)
        torch.cuda.current_stream().wait_stream(side)
        return torch.nn.functional.mse_loss(self.net(x), target)
