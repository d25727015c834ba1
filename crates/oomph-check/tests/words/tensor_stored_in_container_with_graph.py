import torch
def predict_all(model, loader):
    return torch.cat([model(x.cuda()) for x, _ in loader]).cpu().detach()  # <-
# ---
import torch
from collections import defaultdict
def train(model, loader, opt, crit):
    hist = defaultdict(list)
    for epoch in range(10):
        for x, y in loader:
            out = model(x.cuda())
            loss = crit(out, y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            hist["loss"].append(loss)  # <-
            hist["acc"].append((out.argmax(1) == y.cuda()).float().mean().item())
    return hist
# ---
import torch
class History:
    def __init__(self):
        self.records = []
    def add(self, step, loss):
        self.records.append((step, loss))  # <-
def train(model, loader, opt, crit):
    h = History()
    for step, (x, y) in enumerate(loader):
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        h.add(step, loss)  # <-
    return h
# ---
import torch
class Trainer:
    def __init__(self, model, opt, crit):
        self.model, self.opt, self.crit = model, opt, crit
        self.losses = []
    def step(self, x, y):
        out = self.model(x.cuda())
        loss = self.crit(out, y.cuda())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.losses.append(loss)  # <-
    def train(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                self.step(x, y)
# ---
import torch
def embed(encoder, loader):
    encoder.eval()
    feats, ids = {}, []
    for batch in loader:
        z = encoder(batch["img"].cuda())
        for i, name in enumerate(batch["name"]):
            feats[name] = z[i]  # <-
    return feats
# ---
import torch
def train(model, loader, opt, crit):
    losses = []
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses += [loss]  # <-
    return sum(losses) / len(losses)
# ---
import torch
def rollout(policy, env, steps):
    obs = env.reset()
    logps = []
    for _ in range(steps):
        dist = torch.distributions.Categorical(logits=policy(torch.as_tensor(obs).cuda()))
        a = dist.sample()
        logps.append(dist.log_prob(a))  # <-
        obs, r, done, _ = env.step(a.item())
    return torch.stack(logps).detach()
# ---
import torch
def fit(model, loader, opt, crit):
    log = []
    for i, (x, y) in enumerate(loader):
        pred = model(x.cuda())
        loss = crit(pred, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append({"step": i, "loss": loss, "pred": pred})  # <-
    return log
# ---
import torch
def extract(net, loader):
    net.eval()
    return {name: net(img.cuda()) for name, img in loader}  # <-
# ---
import torch
def train(model, loader, opt, crit):
    best = []
    for x, y in loader:
        out = model(x.cuda())
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        l = loss
        best.insert(0, l)  # <-
    return best
# ---
import torch
def train(model, loader, opt, crit):
    losses = []
    for x, y in loader:
        out = model(x.cuda())
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses = losses + [loss]  # <-
    print(torch.stack(losses).mean())
# ---
import torch
import torch.nn as nn
class Solver(object):
    def __init__(self, model):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters())
        self.train_losses = []
    def train(self, loader):
        self.model.train()
        for data, target in loader:
            data, target = data.cuda(), target.cuda()
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(data), target)
            loss.backward()
            self.optimizer.step()
            self.train_losses.append(loss)  # <-
# ---
import torch
def note(store, value):
    store.append(value[:, 0])
def train(net, loader, opt, crit):
    seen = []
    for x, y in loader:
        out = net(x.cuda())
        opt.zero_grad()
        crit(out, y.cuda()).backward()
        opt.step()
        note(seen, out)  # <-
    return seen
# ---
import torch
def fit(engine, batches, opt):
    records = []
    for batch in batches:
        opt.zero_grad()
        result = engine.run(batch)
        result["total_loss"].backward()
        opt.step()
        records.append(result)  # <-
    return records
# ---
import torch
from transformers import Trainer
class Kd(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.history = []
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(**inputs)
        self.history.append(out.loss)  # <-
        return out.loss
# ---
import torch
def train(make_loss, loader, opt):
    kept = []
    for batch in loader:
        value = make_loss(batch)
        opt.zero_grad()
        value.backward()
        opt.step()
        kept.append(value)  # <-
    return kept
# ---
import torch
from torch import nn
class Tracker(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.head = nn.Linear(dim, 2)
        self.points = []
    def forward(self, x):
        out = self.head(x)
        self.points.append(out)  # <-
        return out
def train(model, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    torch.save(model.points, "points.pt")
# ---
import torch
from torch import nn
class Decoder(nn.Module):
    def __init__(self, layers, heads):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.heads = nn.ModuleList(heads)
    def boxes(self, states, points, device):
        found = []
        for point, head, state in zip(points, self.heads, states):
            delta = head(state).to(device)
            found.append((delta + point.to(device)).sigmoid())
        return torch.stack(found)
    def encode_candidates(self, candidates, size):
        return torch.cat([self.layers[0](x) for x in iter_batches(candidates, size)])
def embed(net, loader):
    kept = []
    for x, _ in loader:
        kept.append(net(x.cuda()))
    return torch.cat(kept).cpu().numpy()
def collect(net, val_loader):
    net.eval()
    kept = []
    for x, _ in val_loader:
        kept.append(net(x.cuda()))  # <-
    return torch.cat(kept).argmax(1)
# ---
import torch
from torch import nn

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 512), nn.ELU(), nn.Linear(512, 512))

    def worth(self, obs):
        return self.body(obs).mean(-1)

def collect(agent, loader):
    values = []
    for obs in loader:
        values.append(agent.worth(obs))  # <-
    print(torch.cat(values).mean().item())
# ---
import torch
class Task:
    def step(self, train, x, y):
        out = self.model(x.cuda())
        loss = self.criterion(out, y)
        if train:
            loss.backward()
            return loss.item()
        return loss
    def evaluate(self, loader):
        losses = []
        for x, y in loader:
            losses.append(self.step(False, x, y))  # <-
        return losses
# ---
import torch
from collections import defaultdict
class Averager:
    def __init__(self):
        self.values = defaultdict(list)
    def put(self, key, value):
        self.values[key].append(value)  # <-
def edges(a, b):
    return (a[1:] - b[1:]).abs().mean()
def train(net, loader, opt):
    avg = Averager()
    for x, y in loader:
        out = net(x.cuda())
        loss = edges(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg.put("edges", loss)  # <-
    return avg
# ---
import torch
from dataclasses import dataclass
@dataclass
class State:
    step: int = 0
    loss: torch.Tensor = None
class Callback:
    def on_step_end(self, state: State): ...
class Curve(Callback):
    def __init__(self):
        self.curve = []
    def on_step_end(self, state: State):
        self.curve.append(state.loss)  # <-
def fit(net, loader, opt, criterion, callbacks):
    state = State()
    for x, y in loader:
        loss = criterion(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        state.loss = loss
        for callback in callbacks:
            callback.on_step_end(state)
# ---
import torch
from library import Language
def windows(length, size):
    for start in range(0, length, size):
        yield start, min(start + size, length)
def surprise(model, ids, size):
    found = []
    for start, stop in windows(ids.size(1), size):
        part = ids[:, start:stop].to("cuda")
        found.append(model(part, labels=part).loss * (stop - start))  # <-
    return torch.stack(found).sum()
def main(texts):
    model = Language().to("cuda")
    model.eval()
    for ids in texts:
        print(surprise(model, ids, 512).item())
# ---
import torch
from torch import nn
from torch.distributions import Categorical
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return Categorical(logits=self.head(x))
class Agent:
    def __init__(self):
        self.policy = Policy().cuda()
        self.log_probs, self.entropies = [], []
    def act(self, state):
        dist = self.policy(torch.as_tensor(state).cuda())
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        self.entropies.append(dist.entropy())  # <-
        return action.item()
    def learn(self, returns, opt):
        loss = -(torch.stack(self.log_probs) * returns).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        self.log_probs.clear()
def play(env, opt):
    agent = Agent()
    for episode in range(1000):
        state, _ = env.reset()
        done = False
        while not done:
            state, reward, done, cut, _ = env.step(agent.act(state))
        agent.learn(1.0, opt)
# ---
import torch
from library import Field, rays, render
def train(args, images):
    net = Field().cuda()
    opt = torch.optim.Adam(net.parameters())
    curve = []
    for it in range(args.iters):
        colours = render(net, rays(images))
        error = torch.nn.functional.mse_loss(colours, images.cuda())
        opt.zero_grad()
        error.backward()
        opt.step()
        curve.append(-10 * torch.log10(error))  # <-
    return curve
# ---
import torch
def train(model, loader, optimizer, criterion):
    shown = []
    for epoch in range(20):
        for step, (x, y) in enumerate(loader):
            out = model(x.cuda())
            if step % 2 == 0:
                shown.append(out[0])  # <-
            optimizer.zero_grad()
            criterion(out, y.cuda()).backward()
            optimizer.step()
    return shown
# ---
import torch
def fit(net, loader, opt):
    logs = {}
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        logs.setdefault("loss", []).append(loss)  # <-
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
class Meter:
    def __init__(self):
        self.hist = {}
    def add(self, **kw):
        for k, v in kw.items():
            if k not in self.hist:
                self.hist[k] = []
            self.hist[k].append(v)
def fit(net, loader, opt):
    m = Meter()
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        m.add(loss=loss)  # <-
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
class Hist:
    def __init__(self):
        self.rows = {}
    def put(self, k, v):
        self.rows[k] = self.rows.get(k, []) + [v]
def fit(net, loader, opt):
    h = Hist()
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        h.put("loss", loss)  # <-
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from models import Auto
from data import val_loader

model = Auto(256).cuda()
model.eval()
codes = []
for images, _ in val_loader:
    codes.append(model.encode(images.cuda()))  # <-
torch.save(torch.cat(codes).cpu(), "codes.pt")
# ---
import torch
from torch import nn

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 512), nn.ELU(), nn.Linear(512, 1))

    def worth(self, obs):
        return self.body(obs).squeeze(-1)

class Memory:
    def __init__(self):
        self.obs, self.worth_of = [], []

    def put(self, obs, worth):
        self.obs.append(obs)
        self.worth_of.append(worth)  # <-

def play(env, critic, policy, horizon):
    memory = Memory()
    obs = env.reset()
    for _ in range(horizon):
        worth = critic.worth(obs)
        obs, reward, done, info = env.step(policy.choose(obs))
        memory.put(obs, worth)
    return torch.stack(memory.worth_of).detach()
# ---
import torch

def plain(value):
    if isinstance(value, (list, torch.Tensor)):
        return value * 1.0
    return value

def train(model, loader, optimizer, criterion):
    curve = []
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(plain(loss))  # <-
    return curve
