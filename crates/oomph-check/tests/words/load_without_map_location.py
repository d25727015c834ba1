import torch

resume = True

def main(net):
    net.cuda()
    if resume:
        net.load_state_dict(torch.load("last.pt"))  # <-
# ---
import torch

train_new = True
if train_new:
    fit(model)
else:
    model.load_state_dict(torch.load("other.pt"))
model.load_state_dict(torch.load("last.pt"))  # <-
model.cuda()
# ---
import torch

def start(net, args, path=None):
    weight_file = None
    if weight_file is not None:
        net.load_state_dict(torch.load(weight_file))
    if path is not None:
        net.load_state_dict(torch.load(path))  # <-
    return net.cuda()
# ---
import torch
from urllib.request import urlretrieve

urlretrieve(URL, file_name)
net.load_state_dict(torch.load(file_name))
net.load_state_dict(torch.load(other_name))  # <-
net.cuda()
# ---
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--ckpt", default="stylegan2-ffhq-config-f.pt")
parser.add_argument("--own", default="own.pt")
args = parser.parse_args()
net.load_state_dict(torch.load(args.ckpt)["g_ema"])
net.load_state_dict(torch.load(args.own)["g_ema"])  # <-
net.cuda()
# ---
import torch

def main(args, vgg, decoder):
    vgg.load_state_dict(torch.load(args.weights))
    decoder.load_state_dict(torch.load(args.decoder))  # <-
    torch.save(decoder.state_dict(), "decoder.pt")
    return vgg.cuda(), decoder.cuda()
# ---
import torch

def load_inception(path, net):
    net.load_state_dict(torch.load(path))
    return net.cuda()

def load_own(path, net):
    net.load_state_dict(torch.load(path))  # <-
    return net.cuda()
# ---
import torch

def train(net, path):
    device = torch.device("cpu")
    net.to(device)
    net.load_state_dict(torch.load(path))

def test(net, path):
    device = torch.device("cuda")
    net.to(device)
    net.load_state_dict(torch.load(path))  # <-
# ---
import torch

model_0 = Net()
for x in loader:
    model_0(x).sum().backward()
torch.save(obj=model_0.state_dict(), f=PATH)
first = Net()
first.load_state_dict(torch.load(f=PATH))
model_1 = Net()
model_1.to("cuda")
torch.save(obj=model_1.state_dict(), f=PATH)
second = Net()
second.load_state_dict(torch.load(f=PATH))  # <-
# ---
import torch

class Net(torch.nn.Module):
    def load_more(self, path):
        self.load_state_dict(torch.load(path))
        self.cuda()

    def resume(self, options):
        self.load_state_dict(torch.load(options.resume))  # <-
# ---
import os
import torch

def features(params, net):
    net.load_state_dict(torch.load(os.path.join(params['model_root'], params['model'] + '.pth')))
    net.load_state_dict(torch.load(os.path.join(params['saved'], params['model'] + '.pth')))  # <-
    return net.cuda()
# ---
import torch

def start(model, path):
    state = torch.load(path)
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    return model.cuda()

def resume(model, path):
    state = torch.load(path)  # <-
    state = {key[7:]: value for key, value in state.items()}
    model.load_state_dict(state)
    return model.cuda()
# ---
import torch

def main(model, args, files):
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(state["model"])
    model.cuda()
    for file in files:
        state = torch.load(file)
        print(state["epoch"])
    for file in files:
        other = torch.load(file)  # <-
        model.load_state_dict(other["model"])
# ---
import torch

def validate(path, loader, Net):
    checkpoint = torch.load(path)
    if "structure" in checkpoint:
        model = checkpoint["structure"]
    else:
        model = Net()
    model.load_state_dict(checkpoint["weights"])
    return model.cuda()

def test(path, loader, Net):
    checkpoint = torch.load(path)  # <-
    model = Net(checkpoint["size"])
    model.load_state_dict(checkpoint["weights"])
    return model.cuda()
# ---
import torch

def export(model, path):
    model = model.cpu()
    state = torch.load(path)
    model.load_state_dict(state["model"])
    return torch.jit.script(model)

def serve(model, path):
    model = model.cpu()
    state = torch.load(path)  # <-
    model.load_state_dict(state["model"])
    return model.cuda()
# ---
import torch
from nets import Resnet

def training(model):
    model = model.cuda()
    helper(model)
    torch.save({"model": model.state_dict()}, "theirs.t")

model = Resnet()
settings = {"epoch": 1, "state_dict": model.state_dict()}
torch.save(settings, "ours.t")
loaded = torch.load("ours.t")
model = Resnet()
model.load_state_dict(loaded["state_dict"])
other = Resnet()
training(other)
other.load_state_dict(torch.load("theirs.t")["model"])  # <-
# ---
import torch
from tools import split, things_to

class Trainer:
    def save(self):
        sd = self.model.state_dict()
        sd = split(sd, "head")
        torch.save(sd, self.path)

    def load(self):
        self.model.load_state_dict(torch.load(self.path))  # <-
        self.model.cuda()
# ---
import torch

def segment(path, own, loader):
    net = torch.hub.load("somebody/deeplab", "resnet101", n_classes=182)
    net.load_state_dict(torch.load(path))
    own.load_state_dict(torch.load(path))  # <-
    return net.cuda(), own.cuda()
# ---
import torch

class Trainer:
    def __init__(self, net):
        self.net = net.cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def resume(self, path):
        saved = torch.load(path)  # <-
        self.optimizer.load_state_dict(saved["optimizer"])
        self.net.load_state_dict(saved["model"])

    def step(self, x):
        self.optimizer.zero_grad()
        self.net(x).sum().backward()
        self.optimizer.step()
# ---
import torch

class Compressor:
    def __init__(self, model):
        vgg_path = "models/small/vgg_r31.pth"
        self.model = model.cuda()
        self.model.encoder.load_state_dict(torch.load(vgg_path))  # <-

    def save(self):
        torch.save(self.model.encoder.state_dict(), "models/small/vgg_r31.pth")
# ---
import torch
def build(path, device):
    ckpt = torch.load(path)  # <-
    net = ckpt["cls"](**ckpt["args"]).to(device)
    net.load_state_dict(ckpt["state_dict"])
    return net
if __name__ == "__main__":
    net = build("runs/last.pt", "cuda")
    net.eval()
# ---
import torch
from agent import Agent
class Runner:
    def __init__(self, cfg):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.agent = Agent(cfg).to(self.device)
    def resume(self, path):
        saved = torch.load(path)  # <-
        self.agent.load_state_dict(saved["agent"])
        self.step = saved["step"]
# ---
import torch
def load_ckpt(path):
    return torch.load(path)  # <-
def main(net, path):
    net = net.cuda()
    state = load_ckpt(path)
    net.load_state_dict(state["model"])
    net.train()
# ---
import torch
from pathlib import Path
def latest(d):
    return sorted(Path(d).glob("*.pt"))[-1]
def resume(model, opt, d):
    blob = torch.load(str(latest(d)))  # <-
    model.load_state_dict({k.removeprefix("module."): v for k, v in blob["model"].items()})
    opt.load_state_dict(blob["opt"])
    return blob["epoch"]
def main(model, loader):
    model.to("cuda")
    opt = torch.optim.Adam(model.parameters())
    resume(model, opt, "ckpt")
# ---
import torch
class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 2)
    @classmethod
    def from_file(cls, path, device="cuda"):
        data = torch.load(path)  # <-
        net = cls()
        net.load_state_dict(data["weights"])
        return net.to(device)
pol = Policy.from_file("best.pt")
