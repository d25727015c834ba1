import torch
def train(net, loader, opt, crit, k):
    opt.zero_grad()
    n = 0
    for x, y in loader:
        (crit(net(x.cuda()), y.cuda()) / k).backward()
        n += 1
        if n % k == 0:  # <-
            opt.step()
            opt.zero_grad()
# ---
import torch
def train(net, loader, opt, crit, k):
    opt.zero_grad()
    for i, (x, y) in enumerate(loader, start=1):
        (crit(net(x.cuda()), y.cuda()) / k).backward()
        if i % k:  # <-
            continue
        opt.step()
        opt.zero_grad()
# ---
import torch
class T:
    def fit(self, loader):
        self.opt.zero_grad()
        for idx, batch in enumerate(loader):
            loss = self.model(batch["x"].cuda(), batch["y"].cuda()) / self.accum
            self.scaler.scale(loss).backward()
            if (idx + 1) % self.accum == 0:  # <-
                self.scaler.step(self.opt)
                self.scaler.update()
                self.opt.zero_grad()
# ---
import argparse
import torch

def train(args, model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y) / args.accumulation_steps
        loss.backward()
        if (step + 1) % args.accumulation_steps == 0:  # <-
            optimizer.step()
            optimizer.zero_grad()

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation_steps", type=int, default=4)
    return parser.parse_args()
# ---
import torch
CONFIG = {"lr": 1e-3, "n_accumulate": 4}
def train(model, loader, optimizer, criterion, config):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x.cuda()), y.cuda()) / config["n_accumulate"]
        loss.backward()
        if (step + 1) % config["n_accumulate"] == 0:  # <-
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch

def fit(model, loader, optimizer, criterion, every):
    for i, (x, y) in enumerate(loader):
        (criterion(model(x.cuda()), y.cuda()) / every).backward()
        if i > 0 and i % every == 0:  # <-
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch
from tqdm import tqdm

def train(model, loader, opt, crit):
    bar = tqdm(enumerate(loader), total=len(loader))
    for i, (x, y) in bar:
        (crit(model(x.cuda()), y.cuda()) / 4).backward()
        if (i + 1) % 4 == 0:  # <-
            opt.step()
            opt.zero_grad()
# ---
import torch


class CFG:
    batch = 8
    every = max(1, 32 // batch)


def train(model, loader, optimizer, criterion):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / CFG.every
        loss.backward()
        if (step + 1) % CFG.every == 0:  # <-
            optimizer.step()
            optimizer.zero_grad()
