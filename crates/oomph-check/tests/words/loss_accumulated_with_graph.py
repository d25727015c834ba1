import torch
class AverageMeter:
    def __init__(self): self.reset()
    def reset(self):
        self.sum = 0; self.count = 0; self.avg = 0
    def update(self, val, n=1):
        self.sum += val * n  # <-
        self.count += n
        self.avg = self.sum / self.count
def validate(net, loader, crit):
    net.eval()
    losses = AverageMeter()
    for x, y in loader:
        out = net(x.cuda())
        losses.update(crit(out, y.cuda()), x.size(0))  # <-
    return losses.avg
# ---
import torch
def train(model, loader, opt, loss_fn):
    stats = {"loss": 0.0, "n": 0}
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        stats["loss"] += loss * x.size(0)  # <-
        stats["n"] += x.size(0)
    return stats
# ---
import torch
import torch.nn.functional as F
class Trainer:
    def __init__(self, model, opt):
        self.model = model
        self.opt = opt
        self.epoch_loss = 0.0
    def run_step(self, batch):
        x, y = batch
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x.cuda()), y.cuda())
        loss.backward()
        self.opt.step()
        self.epoch_loss += loss  # <-
        return loss.item()
    def fit(self, loader):
        for batch in loader:
            self.run_step(batch)
# ---
import torch
from tqdm import tqdm
def train_one(net, dl, opt, criterion):
    bar = tqdm(dl)
    ema = None
    for x, y in bar:
        l = criterion(net(x.cuda()), y.cuda())
        opt.zero_grad()
        l.backward()
        opt.step()
        ema = l if ema is None else 0.98 * ema + 0.02 * l  # <-
        bar.set_description(str(float(ema)))
# ---
import torch
def train(model, data_loader, optimizer, criterion):
    running_loss = torch.zeros(1).cuda()
    it = iter(data_loader)
    while True:
        try:
            x, y = next(it)
        except StopIteration:
            break
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        running_loss = running_loss + loss  # <-
    print(running_loss)
# ---
import torch
def compute_loss(model, batch, criterion):
    return criterion(model(batch["x"].cuda()), batch["y"].cuda())
def val_epoch(model, loader, criterion):
    model.eval()
    total = 0.
    for batch in loader:
        if batch is None:
            continue
        loss = compute_loss(model, batch, criterion)
        total += loss  # <-
    return total / len(loader)
# ---
import torch
def train(model, loader, opt, criterion):
    total_loss, total_kl = 0, 0
    for x in loader:
        x = x.cuda()
        recon, mu, logvar = model(x)
        bce = criterion(recon, x)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        total_loss, total_kl = total_loss + loss, total_kl + kl  # <-
    return total_loss
# ---
import torch
def fit(model, loader, opt, criterion):
    total = 0
    def log(l):
        nonlocal total
        total += l
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
        log(loss)  # <-
    return total
# ---
import torch
from torch import nn
model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for epoch in range(10):
    epoch_loss = 0
    for xb, yb in train_dl:
        pred = model(xb)
        loss = ((pred - yb) ** 2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        epoch_loss += loss / len(train_dl)  # <-
    history.append(float(epoch_loss))
# ---
import torch
def train(model, loader, opt, crit):
    tot = torch.zeros((), device="cuda")
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
        tot.add_(loss)  # <-
    return tot.item()
# ---
import torch
from collections import defaultdict
def train(det, loader, opt):
    logs = defaultdict(float)
    for images, targets in loader:
        loss_dict = det([i.cuda() for i in images], targets)
        loss = sum(loss_dict.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k, v in loss_dict.items():
            logs[k] += v  # <-
    return logs
# ---
import torch
def train(model, loader, opt, crit):
    sums = {"a": 0.0}
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
        sums["a"] = sums["a"] + loss  # <-
    return sums
# ---
import torch
from accelerate import Accelerator
def main(model, opt, dl):
    accelerator = Accelerator()
    model, opt, dl = accelerator.prepare(model, opt, dl)
    total_loss = 0
    for batch in dl:
        with accelerator.accumulate(model):
            out = model(**batch)
            loss = out.loss
            total_loss += loss.float()  # <-
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
    print(total_loss)
# ---
import lightning as L
import torch
class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.running = 0.0
    def training_step(self, batch, i):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.running = self.running + loss  # <-
        return loss
# ---
import torch
class Stats:
    total = 0
    count = 0
def train(model, loader, opt, crit):
    s = Stats()
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        s.total += loss  # <-
        s.count += 1
    return s
# ---
import torch
from torch.autograd import Variable
def train(model, loader, criterion, optimizer):
    total = 0
    for x, y in loader:
        loss = criterion(model(Variable(x.cuda())), Variable(y.cuda()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # <-
    return total
def test(model, loader, criterion):
    model.eval()
    total = 0
    for x, y in loader:
        total += criterion(model(Variable(x.cuda(), volatile=True)), Variable(y.cuda(), volatile=True))
    return total
# ---
import torch
from torch import nn
class Similarity(nn.Module):
    def __init__(self, mean=[0.5, 0.5], std=(0.2, 0.2)):
        super().__init__()
        self.mean = mean
        self.std = std
    def forward(self, a, b):
        return ((a - b) ** 2).mean()
def score(net, loader):
    net.eval()
    similarity = Similarity()
    total = 0
    for x, y in loader:
        with torch.no_grad():
            out = net(x.cuda()).data.cpu()
        total += similarity(out, y)
    return total
def statistics(detector, val_loader):
    detector.eval()
    mu = torch.zeros(8, device="cuda")
    for x, _ in val_loader:
        features = detector(x.cuda())
        mu += features.sum(0)
    return mu.cpu().numpy()
def validate(net, val_loader, criterion):
    net.eval()
    total = 0
    for x, y in val_loader:
        total += criterion(net(x.cuda()), y.cuda())  # <-
    return total.item()
# ---
import torch
import torch.nn.functional as F
from nets import build_model

class Fitter:
    def __init__(self, lr):
        self.model = build_model().cuda()
        self.opt = torch.optim.Adam(self.model.parameters(), lr)
        self.seen = 0.0

    def learn(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.seen = self.seen + loss  # <-

def runs(lrs, loader):
    for lr in lrs:
        fitter = Fitter(lr)
        for x, y in loader:
            fitter.learn(x.cuda(), y.cuda())
        print(lr, float(fitter.seen))
# ---
import torch
class Smoothed:
    def __init__(self):
        self.total = 0.0
    def update(self, value, n=1):
        self.total += value * n  # <-
class Meters:
    def __init__(self):
        self.meters = {}
    def update(self, **values):
        for name, value in values.items():
            self.meters.setdefault(name, Smoothed()).update(value)
def criterion(out, target):
    losses = {key: torch.nn.functional.cross_entropy(value, target) for key, value in out.items()}
    return losses["out"]
def evaluate(model, loader):
    model.eval()
    log = Meters()
    for x, y in loader:
        log.update(loss=criterion(model(x.cuda()), y.cuda()))
    return log
# ---
import torch
def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        losses = criterion(model(x), y)
        losses["main"].backward()
        optimizer.step()
        total += losses["main"] * x.size(0)  # <-
    return total
# ---
import torch
class Embeddings:
    def __init__(self, model):
        self.model = model
    def set_model_eval_mode(self):
        self.model.eval()
        for parameter in self.model.parameters():
            parameter.requires_grad = False
    def set_model_train_mode(self):
        self.model.train()
        for parameter in self.model.parameters():
            parameter.requires_grad = True
    def measure(self, loader):
        self.set_model_eval_mode()
        self.set_model_train_mode()
        first = 0
        for x, y in loader:
            first += torch.nn.functional.mse_loss(self.model(x), y)  # <-
        print(first)
# ---
import torch

def train(model, loader, optimizer):
    total, other = 0.0, 0.0
    for x, y in loader:
        loss, side_loss = model.loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        (loss + side_loss).backward()
        optimizer.step()
        total += loss.item()
        other += side_loss  # <-
    return total, other.item()
