import torch
def train(model, loader, opt, crit, k):
    for x, y in loader:
        opt.zero_grad()
        loss = 0.0
        for xs, ys in zip(x.chunk(k), y.chunk(k)):
            loss = loss + crit(model(xs.cuda()), ys.cuda())  # <-
        (loss / k).backward()
        opt.step()
# ---
import torch
import torch.nn.functional as F
def meta_step(model, tasks, opt):
    outer = []
    for support, query in tasks:
        out = model(query["x"].cuda())
        outer.append(F.cross_entropy(out, query["y"].cuda()))  # <-
    total = sum(outer) / len(outer)
    opt.zero_grad()
    total.backward()
    opt.step()
# ---
import torch
def train(model, loader, opt, crit, accum):
    loss = 0
    for i, (x, y) in enumerate(loader):
        loss += crit(model(x.cuda()), y.cuda())  # <-
        if (i + 1) % accum == 0:
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss = 0
# ---
import torch
def train(model, batches, opt, crit):
    opt.zero_grad()
    total = None
    i = 0
    while i < len(batches):
        x, y = batches[i]
        l = crit(model(x.cuda()), y.cuda())
        total = l if total is None else total + l  # <-
        i += 1
    total.backward()
    opt.step()
# ---
import torch
def train(model, loader, opt, crit, every):
    losses = []
    for x, y in loader:
        losses.append(crit(model(x), y))  # <-
        if len(losses) == every:
            sum(losses).backward()
            opt.step()
            opt.zero_grad()
            losses.clear()
# ---
import torch
def translate(attn_decoder, memory, target, optimizer, criterion):
    hidden = memory
    token = torch.zeros(1)
    loss = 0
    for t in range(target.size(1)):
        out, hidden, weights = attn_decoder(token, hidden, memory)
        loss += criterion(out, target[:, t])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
def distil(student, storage, optimizer, loss_fn):
    loss, count = 0, 0
    student.reset()
    for batch in storage.generator():
        loss = loss + loss_fn(student(batch.observations), batch.actions)
        count += 1
        if count % 8 == 0:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            student.detach_hidden_state()
            loss = 0
def tasks(net, parts, optimizer, multiplier, criterion):
    total = 0
    for x, y in parts:
        total = total + criterion(net(x), y)
    optimizer.zero_grad()
    total.backward(retain_graph=True)
    optimizer.step()
    (multiplier * total).backward()
def parts(net, pieces, optimizer, criterion):
    total = 0
    for x, y in pieces:
        total += criterion(net(x), y)  # <-
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
# ---
import torch
def picture_loss(net, small, large, size):
    total = 0
    for top in range(0, small.shape[2], size):
        total = total + torch.nn.functional.l1_loss(net(small[:, :, top:top + size]), large[:, :, top:top + size])  # <-
    return total
def train(net, loader, opt):
    for small, large in loader:
        loss = picture_loss(net, small.cuda(), large.cuda(), 48)
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
import torch.nn.functional as F
def train(net, loader, opt):
    batch = []
    for i, (x, y) in enumerate(loader):
        batch.append(F.cross_entropy(net(x.cuda()), y.cuda()))  # <-
        if len(batch) == 8:
            loss = torch.stack(batch).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            batch.clear()
# ---
import torch
import torch.nn.functional as F
def train(net, loader, opt, accum=4):
    losses = []
    for i, (x, y) in enumerate(loader):
        losses.append(F.cross_entropy(net(x.cuda()), y.cuda()))  # <-
        if (i + 1) % accum == 0:
            total = sum(losses) / len(losses)
            total.backward()
            opt.step()
            opt.zero_grad()
            losses = []
# ---
import torch
import torch.nn.functional as F
class T:
    def __init__(self, net, opt):
        self.net, self.opt, self.pending = net, opt, []
    def fit(self, loader):
        for x, y in loader:
            self.pending.append(F.cross_entropy(self.net(x.cuda()), y.cuda()))  # <-
            if len(self.pending) >= 16:
                loss = torch.stack(self.pending).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.pending = []
# ---
import torch
import torch.nn.functional as F
def train(net, loader, opt):
    total = 0
    n = 0
    for x, y in loader:
        total = total + F.cross_entropy(net(x.cuda()), y.cuda())  # <-
        n += 1
        if n == 8:
            opt.zero_grad()
            (total / n).backward()
            opt.step()
            total, n = 0, 0
# ---
import torch
import torch.nn.functional as F
def epoch(net, tasks, opt):
    opt.zero_grad()
    parts = {}
    for name, (x, y) in tasks.items():
        parts[name] = F.cross_entropy(net(x.cuda()), y.cuda())  # <-
    loss = sum(parts.values())
    loss.backward()
    opt.step()
# ---
import torch
import torch.nn.functional as F
from scene import Field, draw

def pictures(field, views, count):
    total = 0.0
    for _ in range(count):
        rays, wanted = views.pick()
        total = total + F.mse_loss(draw(field, rays), wanted) / count  # <-
    return total

def main(views, steps):
    field = Field().cuda()
    opt = torch.optim.Adam(field.parameters())
    for _ in range(steps):
        loss = pictures(field, views, 16)
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch

def outer(model, tasks, criterion, optimizer):
    def show(loss):
        print(loss.item())
    losses = []
    for x, y in tasks:
        losses.append(criterion(model(x.cuda()), y.cuda()))  # <-
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show(loss)
