"""Lightning, accelerate and the like know their own modes."""
import lightning as L
import torch
from accelerate import Accelerator
from torch import nn
from torch.amp import GradScaler, autocast


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.val_outputs = []
        self.seen = 0

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.seen += loss  # <- loss-accumulated-with-graph
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.val_outputs.append(out)
        return out


def with_accelerate(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, data)
    total = 0
    for batch in loader:
        with accelerator.accumulate(model):
            out = model(batch["x"])
            loss = out.mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        total += loss  # <- loss-accumulated-with-graph
    model.eval()
    gathered = []
    for batch in loader:
        with torch.no_grad():
            out = model(batch["x"])
        gathered.append(accelerator.gather(out))


def mixed_precision(model, optimizer, loader, criterion):
    scaler = GradScaler("cuda")
    model.train()
    losses = []
    for i, (x, y) in enumerate(loader):
        with autocast("cuda"):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss)  # <- tensor-stored-in-container-with-graph
        losses.append(loss.detach())


def tuple_of_plain_things(model, criterion, loader, optimizer):
    model.train()
    size = 0
    for sample in loader:
        loss, sample_size, logging_output = criterion(model, sample)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        size += sample_size


def any_loop_that_steps(model, optimizer, graphs):
    model.train()
    total = 0
    kept = []
    for graph in graphs:
        optimizer.zero_grad()
        loss = model(graph).mean()
        loss.backward()
        optimizer.step()
        total += loss  # <- loss-accumulated-with-graph
    for epoch in range(10):
        loss = model(graphs[0]).mean()
        loss.backward()
        optimizer.step()
        kept.append(loss)  # <- tensor-stored-in-container-with-graph


def managed(model, loader, stack):
    model.eval()
    stack.enter_context(torch.no_grad())
    for batch in loader:
        print(model(batch))
