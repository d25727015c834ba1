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
