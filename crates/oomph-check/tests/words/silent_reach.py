import torch


class Pair:
    def __init__(self, net, loader, optimizer):
        self.net = torch.nn.DataParallel(net)
        self.loader, self.optimizer = loader, optimizer

    def fit(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            self.net.module(x).sum().backward()
            self.optimizer.step()
# ---
import torch

from engine import Engine


def build(net, optimizer, loader, many):
    engine = Engine(net, optimizer)
    net = torch.nn.DataParallel(net) if many else net
    engine.loss(next(iter(loader))).backward()
    return engine
# ---
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--cards", type=eval, default=((0,),))
options = parser.parse_args()


def fit(net, loader, optimizer):
    placed, cards = place(options.cards)
    net = torch.nn.DataParallel(net, device_ids=cards[0])
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import torch


def settings():
    config = {"device_ids": [2], "epochs": 3}
    return config


def fit(net, loader, optimizer, config):
    net = torch.nn.DataParallel(net, device_ids=config["device_ids"])
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import torch


class CFG:
    batch = 64
    every = max(1, 32 // batch)


def train(model, loader, optimizer, criterion):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / CFG.every
        loss.backward()
        if (step + 1) % CFG.every == 0:
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch

MOST = 16


def train(model, loader, optimizer, criterion, config):
    every = 1
    batch = int(config["batch"])
    if batch > MOST:
        every = batch // MOST
        batch = MOST
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / every
        loss.backward()
        if step % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def main(model, loader, optimizer, criterion):
    config = {"batch": 16}
    train(model, loader, optimizer, criterion, config)
# ---
import torch


def look(model, loader, once=True):
    for x in loader:
        with torch.no_grad():
            print(model(x.cuda()).mean().item())
        torch.cuda.empty_cache()
        if once:
            break


def report(model, loader):
    look(model, loader)
# ---
import torch


def probe(net, head, loader, optimizer, criterion):
    net = torch.nn.DataParallel(net)
    for x, y in loader:
        features = net(x.cuda()).detach()
        optimizer.zero_grad()
        criterion(head(features), y.cuda()).backward()
        optimizer.step()
