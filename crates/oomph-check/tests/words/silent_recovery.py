import torch


def profile(model, loader, optimizer):
    for x, y in loader:
        try:
            optimizer.zero_grad()
            loss = model(x, y)
            loss.backward()
            optimizer.step()
        except torch.OutOfMemoryError:
            optimizer.zero_grad()
        except Exception as error:
            print(error)
# ---
import torch


def measure(model, loader, optimizer):
    for j, x in enumerate(loader):
        if j > 0:
            break
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        with torch.no_grad():
            model(x.cuda())
        print(torch.cuda.max_memory_allocated())
# ---
import gc

import torch


def train(model, train_loader, optimizer, criterion, patience, max_epochs):
    current_epoch, current_patience = 0, patience
    while current_patience > 0 and current_epoch < max_epochs:
        batches = iter(train_loader)
        for batch_index in range(len(train_loader)):
            x, y = next(batches)
            optimizer.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        gc.collect()
        if model.cuda:
            torch.cuda.empty_cache()
        current_epoch += 1
# ---
import torch


def run(args, encoder, loader, criterion, optimizer):
    encoder.to("cuda")
    if args.mode == "train" and args.resume_path is None:
        first = 0
    elif args.mode == "extract" and args.resume_path is not None:
        checkpoint = torch.load(args.resume_path, map_location="cuda:0")
        encoder.load_state_dict(checkpoint["encoder"])
    else:
        raise NotImplementedError
    if args.mode == "extract" and args.resume_path is not None:
        extract(encoder, loader)
        return
    for x, y in loader:
        optimizer.zero_grad()
        criterion(encoder(x.cuda()), y.cuda()).backward()
        optimizer.step()


def extract(encoder, loader):
    with torch.no_grad():
        for x, y in loader:
            print(encoder(x.cuda()).argmax(1).cpu())
# ---
import torch
from torch import nn, optim


def train(policy, optimizer_p, loader):
    for x in loader:
        optimizer_p.zero_grad()
        policy(x.cuda()).sum().backward()
        optimizer_p.step()


def main(args, loader):
    policy = nn.Linear(8, 8).to("cuda")
    optimizer_p = optim.Adam(policy.parameters())
    if args.resume:
        checkpoint = torch.load(args.checkpoint, map_location="cuda")
        policy.load_state_dict(checkpoint["net"])
        averager.load_state_dict(checkpoint["averager"])
        print(checkpoint["epoch"])
    train(policy, optimizer_p, loader)
# ---
import torch
from torch import nn


def build(steps):
    return nn.Sequential(*[nn.Linear(2, 2) for _ in range(steps)])


def train_toy(name, points, load=True):
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    x = torch.tensor(points).to(device)
    model = build(3)
    opt = torch.optim.Adam(model.parameters(), 1e-4)
    if load:
        model.load_state_dict(torch.load(name + "model.pt"))
    for epoch in range(10):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
    torch.save(model.state_dict(), name + "model.pt")
# ---
import torch


class Compressor:
    def __init__(self, net, loss_net):
        vgg_path = "models/regular/vgg_r31.pth"
        loss_path = "models/regular/vgg_r51.pth"
        self.net = net
        self.net.encoder.load_state_dict(torch.load(vgg_path))
        self.loss_net = loss_net.cuda()
        self.loss_net.load_state_dict(torch.load(loss_path))

    def save(self):
        torch.save(self.net.matrix.state_dict(), "matrix.pth")
# ---
import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def main(rank, world_size, data, net):
    init_process_group(backend="nccl", rank=rank, world_size=world_size)
    loader = DataLoader(data, batch_size=8, pin_memory=True)
    net = DistributedDataParallel(net.to(rank), device_ids=[rank])
    for x in loader:
        print(net(x.to(rank)).argmax().item())
# ---
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def main(data, net):
    dist.init_process_group(backend="nccl", world_size=1, rank=0)
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    net = DistributedDataParallel(net.to("cuda:0"))
    for x in loader:
        print(net(x.to("cuda:0")).argmax().item())
# ---
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")


def collate_fn(items):
    width = max(image.shape[-1] for image in items)
    padded = []
    for image in items:
        c, h, w = image.shape
        wide = torch.zeros(c, h, width, dtype=image.dtype, device=image.device)
        wide[:, :, :w] = image
        padded.append(wide)
    return torch.stack(padded)


def loader_of(data):
    return DataLoader(data, batch_size=8, num_workers=4, collate_fn=collate_fn)
# ---
import torch


def main(net, loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = "cpu"
    net.to(device)
    net.load_state_dict(torch.load("net.pt"))
    with torch.no_grad():
        for x in loader:
            print(net(x.to(device)).argmax().item())
# ---
import torch


class Rewards:
    def __init__(self):
        self.mean, self.count = 0.0, 0

    def state_dict(self):
        return {"mean": self.mean, "count": self.count}

    def load_state_dict(self, state):
        self.mean, self.count = state["mean"], state["count"]


def play(agent, path):
    rewards = Rewards()
    rewards.load_state_dict(torch.load(path))
    agent.cuda()
    return rewards
# ---
import torch
from torchvision.models import resnet18

device = torch.device("cuda" if torch.cuda.is_available() and False else "cpu")


def main(loader, path):
    model = resnet18()
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    model.to(device).eval()
    with torch.no_grad():
        for x in loader:
            print(model(x.to(device)).argmax(1).tolist())
# ---
import torch
from torch import nn


class Wavelet(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.requires_grad = False

    def forward(self, x):
        return x * self.scale
# ---
import torch


def thaw(model):
    for layer in model.layers[-2:]:
        layer.require_grad = True
# ---
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)


if __name__ == "__main__":
    torch.autograd.set_detect_anomaly(True)
    net = Net()
    out = net(torch.randn(2, 8))
    out.sum().backward()
    print(out.shape)
# ---
import torch

whole = torch.load("model.pt", weights_only=False)


def renew(model, whole):
    model.load_state_dict(whole)
    return model


def main(loader):
    whole.to("cuda").eval()
    with torch.no_grad():
        for x in loader:
            print(whole(x.cuda()).argmax().item())
