import random
from collections import deque
import torch

class Agent:
    def __init__(self, actor):
        self.actor = actor.cuda()
        self.memory = deque(maxlen=100_000)

    def store(self, state, reward):
        action = self.actor(torch.as_tensor(state).cuda())
        self.memory.append((state, action, reward))  # <-

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
        self.points.append(loss)  # <-

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

class Kept:
    def __init__(self):
        self.seen = []

    def after_batch(self, runner, logits, loss):
        self.seen.append(loss)  # <-

class Runner:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def tell(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(self, *args)

    def run(self, pairs):
        for x, y in pairs:
            logits = self.model(x.cuda())
            loss = torch.nn.functional.cross_entropy(logits, y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.tell("after_batch", logits, loss)
# ---
import torch
from dataclasses import dataclass
@dataclass
class Rec:
    step: int
    loss: torch.Tensor
def train(model, loader, opt):
    recs = []
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
        recs.append(Rec(i, loss))  # <-
# ---
import torch
def train(model, loader, opt):
    losses = ()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
        losses = losses + (loss,)  # <-
# ---
import torch
from torch import nn

critic = nn.Linear(64, 1).cuda()

def play(env, steps):
    values, seen = [], []
    state = env.reset()
    for _ in range(steps):
        value = critic(torch.as_tensor(state).cuda())
        values.append(value)  # <-
        seen.append(state)
        state, reward, done, info = env.step(0)
    return seen, values

def report(env):
    seen, values = play(env, 1000)
    print(len(seen), torch.stack(values)[1:].mean().item())
# ---
import torch
from torch import nn
from torch.distributions import Categorical

policy = nn.Sequential(nn.Linear(64, 4), nn.Softmax(-1)).cuda()
spread = []

def act(state):
    choice = Categorical(policy(torch.as_tensor(state).cuda()))
    spread.append(choice.entropy())  # <-
    return choice.sample().item()

def play(env):
    state, done = env.reset(), False
    while not done:
        state, reward, done, info = env.step(act(state))

def show():
    print(torch.stack(spread[-100:]).mean().item())
# ---
import torch
import torch.nn.functional as F

def train(model, loader, opt):
    kept = []

    def step(x, y):
        opt.zero_grad()
        loss: torch.Tensor = F.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        kept.append(loss)  # <-

    for x, y in loader:
        step(x, y)
    return kept
# ---
import contextlib
import torch

def train(model, loader, opt, crit):
    kept = []
    for x, y in loader:
        with contextlib.nullcontext():
            opt.zero_grad()
            loss = crit(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
            kept += [loss]  # <-
    return kept
