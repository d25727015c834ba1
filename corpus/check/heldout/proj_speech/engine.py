import torch
from torch import nn

from meters import Meter

criterion = nn.CrossEntropyLoss()


def step_loss(model, batch, device):
    mel, tag = (t.to(device) for t in batch)
    logits, _ = model(mel)
    return criterion(logits.flatten(0, 1), tag.flatten())


def train_epoch(model, loader, optimizer, device):
    model.train()
    meter = Meter()
    for batch in loader:
        optimizer.zero_grad()
        loss = step_loss(model, batch, device)
        loss.backward()
        optimizer.step()
        meter.add(loss.item())
    return meter.mean()


def valid_epoch(model, loader, device):
    model.eval()
    meter = Meter()
    for batch in loader:
        meter.add(step_loss(model, batch, device))
    return meter.mean()


def stream(model, chunks, optimizer, device):
    h = None
    for mel, tag in chunks:
        logits, h = model(mel.to(device), h)
        loss = criterion(logits.flatten(0, 1), tag.to(device).flatten())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
