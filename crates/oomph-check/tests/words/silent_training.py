import torch
class Agent:
    def __init__(self, policy, opt):
        self.policy, self.opt = policy, opt
        self.log_probs, self.rewards = [], []
    def act(self, s):
        dist = torch.distributions.Categorical(self.policy(torch.as_tensor(s).cuda()))
        a = dist.sample()
        self.log_probs.append(dist.log_prob(a))
        return a.item()
    def finish(self, R):
        loss = -(torch.stack(self.log_probs) * R).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.log_probs, self.rewards = [], []
def run(agent, env):
    for ep in range(100):
        s = env.reset()
        for t in range(100):
            s, r, d, _ = env.step(agent.act(s))
            agent.rewards.append(r)
        agent.finish(torch.tensor(1.0))
# ---
import torch
class Meter:
    def __init__(self): self.total = 0.0; self.n = 0
    def update(self, v, k=1):
        self.total += v * k
        self.n += k
def train(model, loader, opt, crit):
    m = Meter()
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        m.update(loss.item(), len(x))
# ---
import torch
class Meter:
    def __init__(self): self.total = 0.0
    def update(self, v):
        self.total = self.total + v
def train(model, loader, opt, crit):
    for x, y in loader:
        m = Meter()
        for xs, ys in zip(x.chunk(2), y.chunk(2)):
            m.update(crit(model(xs.cuda()), ys.cuda()))
        opt.zero_grad()
        m.total.backward()
        opt.step()
# ---
import torch
from torch import nn
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8)
        self.hidden = self.init_hidden()
    def init_hidden(self):
        return (torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))
    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return out
def train(model, loader, opt, crit):
    for x, y in loader:
        model.hidden = model.init_hidden()
        opt.zero_grad()
        loss = crit(model(x), y)
        loss.backward()
        opt.step()
# ---
import torch
class Gan:
    def step(self, real):
        z = torch.randn(len(real), 100).cuda()
        fake = self.G(z)
        self.opt_D.zero_grad()
        (self.D(fake.detach()).mean() - self.D(real.cuda()).mean()).backward()
        self.opt_D.step()
        self.opt_G.zero_grad()
        (-self.D(fake).mean()).backward()
        self.opt_G.step()
# ---
import torch
def features(model, x):
    feats = []
    def hook(m, i, o):
        feats.append(o)
    handles = [m.register_forward_hook(hook) for m in model.children()]
    model(x)
    for h in handles: h.remove()
    return feats
def run(model, loader, opt):
    for x, y in loader:
        loss = sum(f.mean() for f in features(model, x.cuda()))
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def train(model, loader, opt, crit, k):
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        (crit(model(x.cuda()), y.cuda()) / k).backward()
        if (i + 1) % k != 0 and i + 1 != len(loader):
            continue
        opt.step()
        opt.zero_grad()
# ---
import torch
def train(teacher, student, loader, opt, mse):
    def soft(m, x):
        with torch.no_grad():
            return m(x)
    for x, _ in loader:
        x = x.cuda()
        loss = mse(student(x), soft(teacher, x))
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def train(model, loader, opt, crit):
    labels, preds = [], []
    for x, y in loader:
        out = model(x.cuda())
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        labels.append(y)
        preds.append(out.argmax(1).cpu())
# ---
import torch
class Trainer:
    def __init__(self):
        self.buffer = []
    def step(self, batch):
        out = self.model(batch.cuda())
        self.buffer.append(out)
        if len(self.buffer) == 4:
            torch.cat(self.buffer).mean().backward()
            self.opt.step()
            self.opt.zero_grad()
            self.buffer = []
    def fit(self, loader):
        for b in loader:
            self.step(b)
# ---
import torch
def tbptt(model, chunks, opt, crit):
    h = None
    for x, y in chunks:
        out, h = model(x.cuda(), h)
        h = h.detach()
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def run(env, policy, steps):
    tot = 0
    obs = env.reset()
    for t in range(steps):
        dist = torch.distributions.Normal(policy(torch.as_tensor(obs).cuda()), 1.0)
        a = dist.sample()
        obs, r, d, _ = env.step(a.cpu().numpy())
        tot += r
    return tot
# ---
import torch
from torch import nn
class MoE(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.experts = nn.ModuleList(experts)
        self.aux = 0
    def forward(self, x):
        self.aux = 0
        for e in self.experts:
            x = e(x)
            self.aux = self.aux + x.pow(2).mean()
        return x
def train(model, loader, opt, crit):
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda()) + model.aux
        opt.zero_grad(); loss.backward(); opt.step()
# ---
import torch
def collect(parts, value):
    parts.append(value)
def train(net, loader, opt):
    for x in loader:
        parts = []
        for chunk in x.chunk(4):
            collect(parts, net(chunk))
        loss = torch.cat(parts).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def collect(losses, value):
    losses.append(value)
def train(engine, loader, opt):
    total = []
    for batch in loader:
        opt.zero_grad()
        result = engine.run(batch)
        result["loss"].backward()
        opt.step()
        total.append(result["loss"].item())
        collect(total, result["accuracy"])
    return total
# ---
import torch
def train(model, loader, opt, crit, first):
    memory = first()
    for x, y in loader:
        opt.zero_grad()
        out, memory = model(x.cuda(), memory)
        loss = crit(out, y.cuda())
        loss.backward()
        opt.step()
        memory = memory.detach()
# ---
import torch

class Trainer:
    def step(self, batch):
        if self.scaler is None:
            self.scaler = torch.amp.GradScaler("cuda")
        self.opt.zero_grad()
        self.scaler.scale(self.net(batch).mean()).backward()
        self.scaler.step(self.opt)
        self.scaler.update()

    def fit(self, loader):
        for batch in loader:
            self.step(batch)
# ---
import argparse
import torch

def train(args, model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y) / args.accumulation_steps
        loss.backward()
        if (step + 1) % args.accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation_steps", type=int, default=1)
    return parser.parse_args()
# ---
import torch
def run(net, loader, opt_dis, opt_dec, train_dis, train_dec):
    for x in loader:
        net.train()
        real, fake = net(x.cuda())
        if train_dec:
            fake.mean().backward(retain_graph=True)
            opt_dec.step()
        if train_dis:
            (real - fake).mean().backward()
            opt_dis.step()
        opt_dis.zero_grad()
        opt_dec.zero_grad()
# ---
import torch


def train(model, loader, optimizer, criterion):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % 1 == 0:
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch


def fit(model, optimizer, task, epochs):
    for _ in range(epochs):
        loss = model(task.x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(model, optimizer, task_loader, args):
    for task in task_loader:
        fit(model, optimizer, task, epochs=args.epochs)
        del task
        torch.cuda.empty_cache()
# ---
import torch


def main(model, optimizer, task_loader, args):
    for task in task_loader:
        for epoch in range(args.epochs):
            optimizer.zero_grad()
            model(task.x).mean().backward()
            optimizer.step()
        torch.cuda.empty_cache()
# ---
import torch


class Noise(torch.nn.Module):
    def step(self, noise, t, image):
        return image - noise / t


def sample(model, image, steps):
    scheduler = Noise()
    with torch.no_grad():
        for t in range(steps, 0, -1):
            image = scheduler.step(model(image), t, image)
            torch.cuda.empty_cache()
    return image
# ---
import torch
def train(gen, disc, opt_g, opt_d, loader, crit, z):
    for step, (x, y) in enumerate(loader):
        loss = crit(disc(x if step % 3 else gen(z)), y)
        loss.backward()
        if step % 3 != 2:
            opt_d.step()
        else:
            opt_g.step()
        opt_d.zero_grad()
        opt_g.zero_grad()
# ---
import torch
def train(gen, disc, loader, z):
    opt_g = torch.optim.Adam(gen.parameters())
    opt_d = torch.optim.Adam(disc.parameters())
    for real in loader:
        fake = gen(z)
        opt_d.zero_grad()
        d_loss = disc(fake, detach=True).mean() - disc(real).mean()
        d_loss.backward()
        opt_d.step()
        opt_g.zero_grad()
        g_loss = -disc(gen(z)).mean()
        g_loss.backward()
        opt_g.step()
# ---
import torch
def distil(teacher, student, loader, optimizer, criterion, kd):
    for x, y in loader:
        soft = teacher(x.cuda())
        own = criterion(soft, y)
        out = student(x.cuda())
        loss = criterion(out, y) + kd(out, soft.softmax(-1))
        optimizer.zero_grad()
        own.backward(retain_graph=True)
        loss.backward()
        optimizer.step()
# ---
import torch
CONFIG = {"lr": 1e-3, "n_accumulate": 1}
def train(model, loader, optimizer, criterion, config):
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x.cuda()), y.cuda()) / config["n_accumulate"]
        loss.backward()
        if (step + 1) % config["n_accumulate"] == 0:
            optimizer.step()
            optimizer.zero_grad()
# ---
import torch
def attempt(model, x, y, parts):
    try:
        for a, b in zip(x.chunk(parts), y.chunk(parts)):
            (model(a.cuda()) - b.cuda()).pow(2).mean().backward()
        return True
    except torch.OutOfMemoryError:
        return False
def step(model, opt, x, y, parts=1):
    while parts <= 16:
        opt.zero_grad()
        if attempt(model, x, y, parts):
            opt.step()
            return parts
        parts *= 2
        torch.cuda.empty_cache()
    raise MemoryError("the batch does not fit")
def train(model, loader, opt):
    for x, y in loader:
        step(model, opt, x, y)
# ---
import torch
def careful(model, opt, loader):
    for x in loader:
        size = len(x)
        while size:
            try:
                for part in x.split(size):
                    model(part.cuda()).sum().backward()
            except torch.cuda.OutOfMemoryError:
                size //= 2
            else:
                opt.step()
                break
            opt.zero_grad()
            torch.cuda.empty_cache()
# ---
import gc
import torch
def tidy():
    gc.collect()
    torch.cuda.empty_cache()
def train(model, opt, loader):
    for x in loader:
        oom = False
        try:
            model(x.cuda()).sum().backward()
        except torch.OutOfMemoryError:
            oom = True
        if not oom:
            opt.step()
            opt.zero_grad()
            continue
        opt.zero_grad()
        tidy()
# ---
import torch
import torch.nn.functional as F

def stage(teacher, student, loader, opt):
    teacher.eval()
    for u, x, y in loader:
        classes = teacher(u.cuda())
        classes = classes.argmax(-1)
        loss = F.cross_entropy(student(x.cuda()), y.cuda()) + F.cross_entropy(student(u.cuda()), classes)
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
import torch.nn.functional as F

def loss_of_all(model, tiles, count):
    total = 0.0
    for _ in range(count):
        x, y = tiles.draw()
        loss = F.l1_loss(model(x), y) / count
        loss.backward()
        total = total + loss.item()
    return total

def main(model, opt, tiles, steps):
    for _ in range(steps):
        opt.zero_grad()
        print(loss_of_all(model, tiles, 16))
        opt.step()
# ---
from itertools import cycle
import torch


def show(labelled, colours):
    for (name, line), colour in zip(cycle(labelled), colours):
        print(name, line, colour)


def fit(model, labelled, unlabelled, optimizer):
    labelled = [(x.cpu(), y) for x, y in labelled]
    for (x, y), u in zip(cycle(labelled), unlabelled):
        optimizer.zero_grad()
        (model(x) - y + model(u)).mean().backward()
        optimizer.step()
# ---
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.up = nn.Linear(8, 8)
        self.act = self.gated if gate else self.plain
    def gated(self, x):
        return self.up(x).sigmoid() * x
    def plain(self, x):
        return self.up(x)
    def forward(self, x):
        return self.act(x)
model = Block(True)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in loader:
    optimizer.zero_grad()
    (model(x) - y).pow(2).mean().backward()
    optimizer.step()
# ---
import torch
def train(model, loader, optimizer, criterion, device):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast(device.type, dtype=torch.float16 if device.type == "cuda" else torch.bfloat16):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# ---
import torch


class Task:
    def step(self, train, x, y):
        out = self.model(x.cuda())
        if train:
            loss = self.criterion(out, y)
            loss.backward()
            return float(loss.item()) / len(y)
        else:
            return out

    def train(self, loader):
        losses = []
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.step(True, x, y)
            losses.append(loss)
            self.optimizer.step()
        print(sum(losses))
# ---
import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, y):
        self.zero_grad()
        return nn.functional.cross_entropy(self.layer(x), y)


model = Translator()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
# ---
import torch
from parts import Critic, Voice
class Train:
    def __init__(self):
        self.voice, self.critic = Voice().cuda(), Critic().cuda()
        self.both = torch.optim.Adam([*self.voice.parameters(), *self.critic.parameters()])
    def learn(self, mel, wave):
        self.both.zero_grad()
        fake = self.voice(mel)
        loss = (fake - wave).abs().mean()
        loss.backward(retain_graph=True)
        other = -self.critic(fake).mean()
        other.backward()
        self.both.step()
    def run(self, loader):
        for mel, wave in loader:
            self.learn(mel.cuda(), wave.cuda())
# ---
import torch
from library import Tagger
def stylize(model, image, steps):
    model.eval()
    image = image.cuda().requires_grad_()
    opt = torch.optim.Adam([image])
    for step in range(steps):
        loss = model(image * 1.0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return image.detach()
