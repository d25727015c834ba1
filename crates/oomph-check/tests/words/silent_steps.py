import torch
class Captions:
    def tell(self, loader):
        for image, _ in loader:
            encoded = self.encoder(image.cuda())
            h, c = self.decoder.init_hidden_state(encoded)
            words = torch.zeros(1, 1).long().cuda()
            while True:
                embedded = self.decoder.embedding(words).squeeze(1)
                seen, _ = self.decoder.attention(encoded, h)
                h, c = self.decoder.decode_step(torch.cat([embedded, seen], dim=1), (h, c))
                both = torch.cat([h, seen], axis=-1)
                both = torch.cat([h, self.decoder.relu(both)], axis=-1)
                fused = self.decoder.project(self.decoder.relu(both))
                words = self.decoder.fc(fused).argmax(1, keepdim=True)
                if words.item() == 0:
                    break
# ---
import torch
from torch import nn
attend, decoder = nn.Linear(8, 8), nn.GRU(8, 8)
def train(loader, optimizer, criterion, encoder):
    for x, y in loader:
        encoded = encoder(x.cuda())
        out = torch.zeros_like(encoded)
        loss = 0
        for t in range(5):
            context = attend(encoded + out)
            out, last = decoder(context)
            loss = loss + criterion(out, y[t])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# ---
import torch
from torch import nn
class Fuse(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.conv = nn.Conv2d(size, size, 3)
    def forward(self, x, rest=None):
        x = self.conv(x)
        return x, x if rest is None else x + rest
stages = nn.ModuleList([Fuse(8) for _ in range(4)]).cuda()
kept = []
out, rest = stages[0](maps[0].cuda())
kept.append(out)
for m, stage in zip(maps[1:], stages[1:]):
    out, rest = stage(m.cuda(), rest)
    kept.insert(0, out)
for one in kept:
    print(one.shape)
# ---
import torch
from torch import autograd
def penalty(critic, real, fake):
    mixed = (real.data + fake.data).requires_grad_()
    out = critic(mixed)
    grad = autograd.grad(out.sum(), mixed, create_graph=True)[0]
    return (grad.norm(2, dim=1) - 1).pow(2).mean()
class Trainer:
    def __init__(self, critic, maker, loader):
        self.critic, self.maker, self.loader = critic.cuda(), maker.cuda(), loader
        self.opt = torch.optim.Adam(self.critic.parameters())
    def step(self, batch, i):
        self.opt.zero_grad()
        x = batch.cuda()
        fake = self.maker(x).detach()
        loss = self.critic(fake).mean() - self.critic(x).mean() + penalty(self.critic, x, fake)
        if i % 5 == 0:
            loss.backward()
            self.opt.step()
        return loss.item()
    def run(self):
        for i, batch in enumerate(self.loader):
            self.step(batch, i)
# ---
import torch
from torch import nn
net = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
def update(draw, optimizer):
    losses = []
    for _ in range(1):
        x, y = draw()
        losses.append(criterion(net(x), y))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# ---
import torch
from torch import nn
class TopAttention(nn.Module):
    def forward(self, q, k, v):
        scores = (q @ k.transpose(-2, -1)) * self.scale
        index = torch.topk(scores, k=8, dim=-1)[1]
        mask = torch.zeros_like(scores).scatter_(-1, index, 1.0)
        chosen = torch.where(mask > 0, scores, torch.full_like(scores, float("-inf")))
        weights = chosen.softmax(dim=-1)
        return weights @ v
# ---
import torch
from torch import nn
from policies import Base
class Policy(Base):
    def __init__(self):
        super().__init__()
        self.critic1, self.critic2 = nn.Linear(8, 1).cuda(), nn.Linear(8, 1).cuda()
    def learn(self, loader):
        for obs, target in loader:
            value1, value2 = self.policy_values(obs)
            q1, q2 = self.critic1(obs.cuda()), self.critic2(obs.cuda())
            loss1 = (q1 - target).pow(2).mean() + value1.logsumexp(1).mean()
            loss2 = (q2 - target).pow(2).mean() + value2.logsumexp(1).mean()
            self.optim1.zero_grad()
            loss1.backward(retain_graph=True)
            self.optim1.step()
            self.optim2.zero_grad()
            loss2.backward()
            self.optim2.step()
# ---
import torch
class Trainer:
    def __init__(self, model, loader, optimizer, criterion, every=1):
        self.model, self.loader = model.cuda(), loader
        self.optimizer, self.criterion, self.every = optimizer, criterion, every
    def epoch(self):
        for step, (x, y) in enumerate(self.loader, start=1):
            loss = self.criterion(self.model(x.cuda()), y.cuda()) / self.every
            loss.backward()
            if step % self.every == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
def main(model, loader, criterion):
    trainer = Trainer(model, loader, torch.optim.SGD(model.parameters(), lr=0.1), criterion, every=1)
    trainer.epoch()
# ---
import torch
import torch.nn.functional as F
from nets import Gen, Disc

class Trainer:
    def __init__(self):
        self.gen = Gen().cuda()
        self.disc = Disc().cuda()
        self.og = torch.optim.Adam(self.gen.parameters())
        self.od = torch.optim.Adam(self.disc.parameters())

    def train_disc(self, real, fake):
        loss = F.softplus(-self.disc(real)).mean() + F.softplus(self.disc(fake)).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()

    def train_gen(self, fake):
        self.og.zero_grad()
        loss = F.softplus(-self.disc(fake)).mean()
        loss.backward()
        self.og.step()

    def fit(self, loader):
        for x, _ in loader:
            fake = self.gen(torch.randn(len(x), 16, device="cuda"))
            self.train_disc(x.cuda(), fake.detach())
            self.train_gen(fake)
# ---
import torch
import torch.nn.functional as F

def train(model, loader, opt, weights):
    for x, targets in loader:
        opt.zero_grad()
        terms = []
        for out, y in zip(model(x.cuda()), targets):
            terms.append(F.cross_entropy(out, y.cuda()))
        loss = (torch.stack(terms) * weights).sum()
        loss.backward()
        opt.step()

def train_short(model, loader, opt):
    for x, targets in loader:
        opt.zero_grad()
        loss = sum(F.cross_entropy(out, y.cuda()) for out, y in zip(model(x.cuda()), targets))
        loss.backward()
        opt.step()
# ---
import random
from collections import deque
import torch

class Agent:
    def __init__(self, actor):
        self.actor = actor.cuda()
        self.memory = deque(maxlen=100_000)

    def store(self, state, reward):
        with torch.no_grad():
            action = self.actor(torch.as_tensor(state).cuda())
        self.memory.append((state, action, reward))

    def draw(self):
        return random.sample(self.memory, 64)
# ---
import torch

class Hook:
    def on_step_end(self, runner, loss): ...

class Curve(Hook):
    def __init__(self):
        self.points = []

    def on_step_end(self, runner, loss):
        self.points.append(loss.item())

class Runner:
    def __init__(self, model, optimizer, hooks):
        self.model, self.optimizer, self.hooks = model, optimizer, hooks

    def run(self, loader):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for hook in self.hooks:
                hook.on_step_end(self, loss)
# ---
import torch
from nets import Gen, Critic

gen, critic = Gen().cuda(), Critic().cuda()
g_opt = torch.optim.Adam(gen.parameters())
c_opt = torch.optim.Adam(critic.parameters())

def penalty(real, fake):
    mixed = (real + fake).detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (slope.norm(2, dim=1) - 1).pow(2).mean()

for real, _ in loader:
    real = real.cuda()
    fake = gen(torch.randn(len(real), 16, device="cuda"))
    loss = critic(fake.detach()).mean() - critic(real).mean() + penalty(real, fake)
    c_opt.zero_grad()
    loss.backward()
    c_opt.step()
    g_opt.zero_grad()
    (-critic(fake).mean()).backward()
    g_opt.step()
# ---
import numpy as np
import torch

def plain(value):
    if isinstance(value, (torch.Tensor, np.generic)):
        return value.item()
    else:
        return value

def train(model, loader, optimizer, criterion):
    curve = []
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss = plain(loss)
        curve.append(loss * len(x))
    return curve
# ---
import torch

def train(model, loader, optimizer, criterion):
    curve, smooth = [], 0.0
    for x, y in loader:
        loss, loss_dict = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth += loss_dict['smooth']
        with torch.no_grad():
            curve.append(loss.cpu())
    return curve, smooth
# ---
import torch

def with_residuals(model, loader, residual):
    kept = []
    for data in loader:
        data.x = torch.cat([data.x, residual(data)], dim=1)
        kept.extend(data.to_data_list())
    return kept
# ---
import torch
def epoch(net, loader, criterion, optimizer=None):
    total = 0.0
    for x, y in loader:
        loss = criterion(net(x.cuda()), y.cuda())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total
def fit(net, train, criterion, optimizer):
    for _ in range(10):
        print(epoch(net, train, criterion, optimizer))
