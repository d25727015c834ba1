import torch

def generate(model):
    with torch.no_grad():
        return model(torch.randn(4, 512, device="cuda"))

if __name__ == "__main__":
    checkpoint = torch.load("g.pt", map_location="cuda")
    model = make_model().cuda()
    model.load_state_dict(checkpoint["g"])
    generate(model)
# ---
import collections
import torch

class Trainer:
    def save(self, path):
        state = self.model.state_dict()
        torch.save(collections.OrderedDict([[k, v.cpu()] for k, v in state.items()]), path)

    def load(self, path):
        self.model.load_state_dict(torch.load(path))
        self.model.cuda()
# ---
import torch

cpu = torch.device("cpu")
model.to("cuda")
train(model)
model.to(cpu)
torch.save(model.state_dict(), "model.pth")
other.load_state_dict(torch.load("model.pth"))
# ---
import torch

def load_saved(path):
    saved = torch.load(path, map_location="cpu")
    model = torch.nn.DataParallel(build(saved["name"])).cuda()
    model.load_state_dict(saved["weights"])
    return model, saved["epoch"]

def optimizer_for(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)
# ---
import torch


def restored(scaler, state):
    if isinstance(scaler, torch.cuda.amp.GradScaler):
        scaler.load_state_dict(state)
# ---
import copy
import torch
class Agent:
    def __init__(self, net):
        self.net = net.to("cuda")
        self.target = copy.deepcopy(self.net)
    def learn(self, step):
        if step % 100 == 0:
            self.target = copy.deepcopy(self.net)
# ---
import argparse
import os

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu_list", type=str, default="0")
args = parser.parse_args()
gpu_list = args.gpu_list
os.environ["CUDA_VISIBLE_DEVICES"] = gpu_list


def fit(net, loader, optimizer):
    net = torch.nn.DataParallel(net)
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
# ---
import copy

import torch


class Averaged:
    def fit(self, loader):
        self.net.to("cuda")
        for epoch in range(9):
            self.train_epoch(loader)
            if self.dataset == "tiny":
                self.ema_model = copy.deepcopy(self.net)

    def train_epoch(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            self.criterion(self.net(x), y).backward()
            self.optimizer.step()

    def predict(self, loader):
        self.ema_model.eval()
        with torch.no_grad():
            return [self.ema_model(x).argmax(1).cpu() for x in loader]
# ---
import torch
from torch import nn

class PixelHeads(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, dim ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads)
        q, k, v = qkv.unbind(2)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        return (attn @ v).reshape(B, N, C)
# ---
import torch

def main(args, model, optimizer, loader):
    model.cuda()
    if args.test:
        checkpoint = torch.load('last.pt', map_location='cuda')
        model.load_state_dict(checkpoint['model'])
        evaluate(model, loader)
        return
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch
import torch.nn as nn

def main(model, optimizer, loader, rank):
    model = nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[rank])
    state = torch.load("last.pt", map_location={"cuda:0": "cpu"})
    model.load_state_dict(state["model"])
    for x in loader:
        optimizer.zero_grad()
        model(x.cuda()).sum().backward()
        optimizer.step()
# ---
import torch

model = Net().cuda()
saved = torch.load("lstm.pt", map_location="cuda")
model.load_state_dict(saved["net"])
show(model)

def build():
    model = Other()
    return model.cuda()

def pre_train(first, second, optimizer, steps):
    for step in range(steps):
        optimizer.zero_grad()
        (first(step) + second(step)).sum().backward()
        optimizer.step()

first, second, optimizer = prepare()
for seed in range(15):
    pre_train(first, second, optimizer, 100)
# ---
import torch

class Trainer:
    def __init__(self, net):
        self.net = net.cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def save(self, path):
        torch.save({"model": self.net.state_dict(), "optimizer": self.optimizer}, path)

    def resume(self, path):
        saved = torch.load(path)
        self.optimizer = saved["optimizer"]
        self.net.load_state_dict(saved["model"])

    def step(self, x):
        self.optimizer.zero_grad()
        self.net(x).sum().backward()
        self.optimizer.step()
# ---
import torch

class Compressor:
    def __init__(self, model):
        vgg_path = "models/plain/vgg_r31.pth"
        self.model = model.cuda()
        self.model.encoder.load_state_dict(torch.load(vgg_path))

    def save(self):
        torch.save(self.model.encoder.state_dict(), "models/small/vgg_r31.pth")
# ---
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1), dim=-1)
        return weights @ self.v(x)

class Generator(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(Attention(dim))

    @torch.inference_mode()
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
# ---
import torch
from torch import nn, optim

def check_frozen(net, change=False, after=None):
    for child in net.children():
        for param in child.parameters():
            if change:
                param.requires_grad = after

def main(target, generator, loader):
    check_frozen(target, change=True, after=False)
    check_frozen(generator, change=True, after=True)
    optimizer = optim.Adam(generator.parameters())
    target = nn.DataParallel(target).cuda()
    generator = generator.cuda()
    for x in loader:
        optimizer.zero_grad()
        target(generator(x.cuda())).mean().backward()
        optimizer.step()
# ---
import torch

def set_grad(model, wanted):
    for param in model.parameters():
        param.requires_grad_(wanted)

def test_sketches(model, loader):
    right = 0
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return right

def main(model, loader):
    model.eval()
    set_grad(model, False)
    return test_sketches(model, loader)
# ---
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.act = self.glu

    def glu(self, x):
        a, b = x.chunk(2, -1)
        return a * b.sigmoid()

    def forward(self, x):
        return self.act(self.up(x))

def main(loader):
    net = Gate(64).cuda()
    with torch.no_grad():
        for x, _ in loader:
            print(net(x.cuda()).argmax(1).tolist())
# ---
import torch
from transformers import CLIPModel

def targets(model, prompts, tokens):
    model = CLIPModel.from_pretrained("clip")
    model.eval().requires_grad_(False)
    embeds = []
    for prompt in prompts:
        embeds.append(model.encode_text(tokens(prompt).to("cuda")).float())
    return embeds
