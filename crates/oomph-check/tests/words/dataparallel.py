import torch


def epoch(wrapped, net, loader, optimizer):
    wrapped.train()
    for x, y in loader:
        optimizer.zero_grad()
        wrapped(x).sum().backward()
        optimizer.step()


def fit(net, loader, optimizer):
    wrapped = torch.nn.DataParallel(net)  # <-
    epoch(wrapped, net, loader, optimizer)
# ---
import torch


def fit(net, loader, optimizer, n_gpu):
    if n_gpu == 1:
        net = net.cuda()
    else:
        net = torch.nn.DataParallel(net).cuda()  # <-
    for x, y in loader:
        optimizer.zero_grad()
        loss, logits = net(x, y)
        loss = loss.mean()
        loss.backward()
        optimizer.step()
# ---
import torch


def fit(net, loader, optimizer, resume):
    net = torch.nn.DataParallel(net)  # <-
    if resume:
        net = torch.load(resume, map_location='cpu')
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    net.module.export()
# ---
import torch


class Trainer:
    def __init__(self, model, gpus):
        self.model = torch.nn.DataParallel(model, device_ids=gpus)  # <-

    def step(self, x, optimizer):
        model = self.model
        model(x).mean().backward()
        optimizer.step()

    def save(self, path):
        self.model.save(path)
# ---
import torch

ngpu = 1
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def fit(net, loader, optimizer, many):
    if device == "cuda":
        net = torch.nn.DataParallel(net)
    if device.type == "cuda" and ngpu > 1:
        net = torch.nn.DataParallel(net)
    if many > 1:
        net = torch.nn.DataParallel(net)  # <-
    for x in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import torch

def make(net, many):
    net = net.cuda() if many == 1 else torch.nn.DataParallel(net).cuda()  # <-
    teacher = net.cuda() if many == 1 else torch.nn.DataParallel(net).cuda()
    return net, teacher

def fit(net, teacher, loader, optimizer):
    for x in loader:
        with torch.no_grad():
            wanted = teacher(x)
        optimizer.zero_grad()
        (net(x) - wanted).square().sum().backward()
        optimizer.step()
# ---
import torch

class Trainer:
    def __init__(self, model, optimizer):
        self.generator = torch.nn.DataParallel(model.generator)  # <-
        self.generator_test = torch.nn.DataParallel(model.generator_test)
        self.optimizer = optimizer

    def step(self, x):
        self.optimizer.zero_grad()
        self.generator(x).sum().backward()
        self.optimizer.step()

    def show(self, x):
        return self.generator_test(x)
# ---
import argparse
import os

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu_list", type=str, default="0,1")
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu_list


def fit(net, loader, optimizer):
    net = torch.nn.DataParallel(net)  # <-
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import argparse
import os

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default="0")
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu


def fit(net, loader, optimizer, n_gpus):
    if n_gpus > 1:
        net = torch.nn.DataParallel(net)  # <-
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import torch
from torch import nn, optim

def check_frozen(net, change=False, after=None):
    for param in net.parameters():
        if change:
            param.requires_grad = after

def main(target, generator, loader):
    check_frozen(target, change=True, after=False)
    check_frozen(generator, change=True, after=True)
    optimizer = optim.Adam(generator.parameters())
    generator = nn.DataParallel(generator).cuda()  # <-
    target = target.cuda()
    for x in loader:
        optimizer.zero_grad()
        target(generator(x.cuda())).mean().backward()
        optimizer.step()
# ---
import torch


class Trainer:
    def __init__(self, model, loader, optimizer):
        self.model = model
        self.loader, self.optimizer = loader, optimizer

    def fit(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            self.model(x).sum().backward()
            self.optimizer.step()


def run(net, loader, optimizer):
    trainer = Trainer(torch.nn.DataParallel(net).cuda(), loader, optimizer)  # <-
    trainer.fit()
# ---
import torch


def build(net, many):
    net = torch.nn.DataParallel(net) if many else net  # <-
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def run(net, loader):
    model, optimizer = build(net, True)
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
# ---
import torch


class Gpt:
    def __init__(self, model):
        self.model = torch.nn.DataParallel(model).to("cuda")  # <-

    def train(self, loader, make):
        model, steps = self.model, 0
        raw = model.module if hasattr(model, "module") else model
        optimizer = raw.configure(make)
        for x, y in loader:
            optimizer.zero_grad()
            logits, loss = model(x, y)
            loss.mean().backward()
            optimizer.step()
