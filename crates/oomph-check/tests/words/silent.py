import torch
from torch import nn
from partial import PartialConv


class Inpainted(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = PartialConv(3, 3, 3)

    def forward(self, x, mask):
        out, seen_mask = self.conv(x, mask)
        self.seen = seen_mask
        return out * 2
# ---
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
def chunked_loss(head, hidden, labels, chunk=1024):
    loss = 0.0
    for i in range(0, hidden.size(0), chunk):
        loss = loss + torch.nn.functional.cross_entropy(head(hidden[i:i+chunk]), labels[i:i+chunk], reduction="sum")
    return loss / hidden.size(0)
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
class Extractor:
    def __init__(self, net):
        self.net = net.cuda().eval()
    def loss(self, x, y):
        return (self.net(x) - self.net(y)).pow(2).mean()
# ---
import torch
class Service:
    def __init__(self, net):
        self.net = net.cuda().eval()
    def predict(self, x):
        with torch.inference_mode():
            return self._run(x)
    def _run(self, x):
        return self.net(x.cuda()).argmax(1).tolist()
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
def validate(model, loader, crit):
    model.eval()
    tot = 0
    for x, y in loader:
        with torch.no_grad():
            loss = crit(model(x.cuda()), y.cuda())
        tot += loss
    return tot
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

def tries(make, loader, rates, flip):
    for rate in rates:
        model = make()
        for layer in model.modules():
            layer.register_forward_hook(flip(rate))
        with torch.no_grad():
            for x, y in loader:
                print((model(x).argmax(1) == y).sum().item())
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
import torch
from torch.autograd import Variable
def test(model, loader, criterion):
    model.eval()
    total = 0
    for x, y in loader:
        x, y = Variable(x.cuda(), volatile=True), Variable(y.cuda(), volatile=True)
        total += criterion(model(x), y)
    return total
# ---
import torch
from torch.autograd import Variable
def wrap(x, test=False):
    return Variable(x.cuda(), volatile=test)
def evaluate(model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(wrap(x, True)).data.max(1)[1].cpu() == y).sum()
    return right
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
import numpy as np
import torch
def mix(a, b, probability):
    use = torch.tensor(np.random.rand(len(a))).cuda() < probability
    drawn = torch.from_numpy(np.random.rand(len(a))).cuda()
    return a * use.view(-1, 1) + b * (drawn < probability).view(-1, 1)
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

def reconstruct(model, cfg, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            draw(model(x.cuda()).cpu())
            if cfg.REDUCE_GPU_MEM:
                torch.cuda.empty_cache()
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

class CandidateProcessing:
    def pad(self, coords, others):
        return torch.sqrt(torch.sum((coords[:, None, :] - others[None, :, :]) ** 2, dim=2)).min(0).values
# ---
import torch
def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    for support_x, support_y, query_x, query_y in loader:
        inner = criterion(model(support_x.cuda()), support_y.cuda())
        params = gradient_update_parameters(model, inner, step_size=0.4)
        total += criterion(model(query_x.cuda(), params=params), query_y.cuda()).item()
    return total
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
class Runner:
    def __init__(self, model, evaluation, loader):
        self.model, self.evaluation, self.loader = model, evaluation, loader
    def eval(self):
        for x, y in self.loader:
            with torch.no_grad():
                pred = self.model(x.cuda())
            print(self.evaluation(pred, y.cuda())[0].item())
# ---
import torch
from torch import nn
class Decoder(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(8, 4) for _ in range(heads)])
    def predict_boxes(self, points_loader, device):
        total = 0.0
        for points in points_loader:
            total += self.heads[0](points.to(device)).sigmoid().sum().item()
        return total
# ---
import torch
class Model:
    def __init__(self, net):
        self.net = net
    def run(self, x, prevent_grads=True):
        self.net.eval()
        if prevent_grads:
            with torch.no_grad():
                self.out = self.net(x)
        else:
            self.out = self.net(x)
    def validate(self, loader):
        for x, y in loader:
            self.run(x.cuda())
            print(self.out.argmax(1).cpu())
# ---
import torch
from torch import nn
class Pix2Pix(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 3, 3))
    def forward(self, data, mode):
        if mode == "generator":
            return self.net(data)
        with torch.no_grad():
            return self.net(data)
def show(image):
    model = Pix2Pix()
    model.eval()
    print(model(image, mode="inference").cpu().mean())
# ---
import torch
from torchvision.models import resnet18, resnet50
def compare(image):
    model = resnet18()
    model.eval()
    with torch.no_grad():
        print(model(image).argmax(1))
    model = resnet50()
    print(model(image).argmax(1))
# ---
import torch


def restored(scaler, state):
    if isinstance(scaler, torch.cuda.amp.GradScaler):
        scaler.load_state_dict(state)
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

VALID = False


def main(loader):
    model = torch.nn.Linear(8, 2).cuda()
    model.eval()
    if VALID:
        for x, y in loader:
            print((model(x.cuda()).argmax(1).cpu() == y).sum())
# ---
import numpy as np
import torch


class Sums(torch.nn.Module):
    def __init__(self, length):
        super().__init__()
        weights = torch.tensor(np.ones((1, length))).to("cuda")
        self.sum = torch.nn.Linear(length, 1).cuda()
        with torch.no_grad():
            self.sum.weight.copy_(weights)
# ---
import numpy as np
import torch

edges = torch.from_numpy(np.linspace(-1, 1, 30)).cuda()
place = torch.tensor(np.array([0.0, 0.5, 2.0]), device="cuda")
show(render, T=place)
# ---
import torch.nn.functional as F


class Letters:
    def loss(self, logits, text):
        return (F.one_hot(text, self.tokenizer.vocab_size) * logits).sum()
# ---
import torch


def check(model, client):
    inputs, labels = list(client.test_loader)[0]
    return (model(inputs).argmax(1) == labels).sum()
# ---
import torch


def apart(cams):
    gaps = cams[:, None, :] - cams[None, :, :]
    return torch.norm(gaps, dim=-1).mean()
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
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.MultiheadAttention(dim, 4, batch_first=True)

    def forward(self, x):
        x = x.unsqueeze(1)
        out, _ = self.mix(x, x, x)
        return out.squeeze(1)
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
from features import chroma, onsets
fns = [chroma, onsets]
def compare(loader):
    kept = []
    for audio, rate in loader:
        parts = [afn(audio.cuda(), rate) for afn in fns]
        kept.append(torch.cat(parts, dim=1))
    return torch.stack(kept)
# ---
import torch
from medcam import medcam
def attend(net, loader):
    net.eval()
    for x, _ in loader:
        net(x.cuda())
def main(model, loader):
    model = medcam.inject(model, backend="gcam")
    attend(model, loader)
# ---
import torch
from framework import Evaluator
def check(model, x, y, loss_func):
    model.eval()
    out = model(x.cuda())
    return loss_func(out, y).item()
def extensions(model, loader, loss_func):
    return Evaluator(loader, model, eval_func=lambda x, y: check(model, x, y, loss_func))
# ---
import torch
from parts import make
model = make("run")
for name, parameter in model.named_parameters():
    parameter.required_grad = False
for x in range(10):
    with torch.no_grad():
        sample = model.generate(x)
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
from torchvision.models import resnet50

PAGES = {}

def remember(net, kind, frame):
    with torch.no_grad():
        PAGES[kind] = net(torch.from_numpy(frame).cuda())

def main(camera):
    net = resnet50(weights="DEFAULT").cuda().eval()
    for kind in ("front", "back"):
        remember(net, kind, camera.take(kind))
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
import torch
from torch import nn

class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(3, 2, 3)
        self.fine = nn.Conv2d(2, 2, 3)
    def forward(self, x):
        self.low = self.coarse(x)
        self.high = self.fine(self.low)
        return [self.high, self.low]
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
import numpy as np
import torch
def table(path):
    return torch.from_numpy(np.loadtxt(path)).cuda()
def main(path, net):
    return net(table(path).float())
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
from torchmetrics.classification import BinaryAUROC
auroc = BinaryAUROC()
def judge(model, loader):
    with torch.no_grad():
        for x, y in loader:
            auroc.update(model(x.cuda()).flatten(), y.cuda())
    return auroc.compute()
# ---
import torch
def label(y, classes=100):
    return torch.eye(classes, device=y.device)[y]
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
from lightly.models.utils import deactivate_requires_grad


def features(build, loader, device):
    model = build()
    model.to(device)
    deactivate_requires_grad(model)
    backbone = model.backbone
    backbone.eval()
    kept = []
    for x, _ in loader:
        kept.append(backbone(x.to(device)))
    return torch.cat(kept)
# ---
import torch
from torch import nn


def set_requires_grad(nets, requires_grad=False):
    for net in nets:
        for param in net.parameters():
            param.requires_grad = requires_grad


def evaluate(loader):
    model = nn.Linear(8, 8)
    set_requires_grad([model], False)
    model.eval()
    total = 0
    for x, y in loader:
        total += nn.functional.cross_entropy(model(x), y)
    return total


class Judge:
    def __init__(self, net):
        self.net = net
        freeze_params(self.net)

    def evaluate(self, loader):
        self.net.eval()
        for x, y in loader:
            print(self.net(x.cuda()).argmax(1))
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
from torch import nn


class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(1, 1, 3, bias=False)
        self.conv = nn.Conv2d(1, 1, 3)
        self.filter.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            edges = nn.functional.conv2d(x, self.filter.weight)
        return self.conv(x) * edges


def clip(net, threshold):
    for layer in net.main:
        layer.weight.requires_grad_ = False
        layer.weight.data.clamp_(-threshold, threshold)
        layer.weight.requires_grad_ = True
# ---
import torch


def run(model, loader, device):
    torch.no_grad()
    model.to(device)
    model.eval()
    with torch.no_grad():
        for x in loader:
            print(model(x.to(device)).argmax(1))
# ---
import torch
import torch.nn.functional as F


def sample(model, class_ids):
    classes = 10000
    for class_id in class_ids:
        hot = F.one_hot(torch.tensor(class_id), num_classes=classes)
        print(model.sample(hot))
# ---
import torch


def edges(nodes, source, target, scale):
    source_at = nodes[source, :2]
    target_at = nodes[target, :2]
    a = scale(source_at)
    b = scale(target_at)
    return (a.unsqueeze(1) - b.unsqueeze(0)).norm(dim=-1)
# ---
import torch


def inside(charts, marginal):
    return torch.autograd.grad(charts.sum(), [charts])[0]


if __name__ == "__main__":
    torch.autograd.set_detect_anomaly(True)
    charts = torch.randn(2, 8, requires_grad=True)
    print(inside(charts, True))
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
import numpy as np
import torch


def embeddings(model, loader):
    kept = []

    def keep(module, args, output):
        output = output.detach().numpy()
        kept.append(output)

    model.fc1.register_forward_hook(keep)
    with torch.no_grad():
        for x, y in loader:
            model(x.float())
    return np.concatenate(kept, axis=0)
# ---
import numpy as np
import torch


def judge_video(item):
    number, name, data, label = item
    features = [x for x in data]
    return np.argmax(np.mean(features, axis=0)) == label
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
def scores(model, lines):
    total = 0.0
    for line in lines:
        total += model(line.to("cuda")).max().item()
    return total
def main(lines):
    model = Tagger().to("cuda")
    model.eval()
    with torch.no_grad():
        print(scores(model, lines))
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
# ---
import torch
class Meters:
    def __init__(self):
        self.kept = {}
    def update(self, **values):
        for name, value in values.items():
            self.kept.setdefault(name, []).append(float(value))
def evaluate(model, loader, criterion):
    model.eval()
    log = Meters()
    with torch.no_grad():
        for x, y in loader:
            log.update(loss=criterion(model(x.cuda()), y.cuda()))
    return log
# ---
import torch
def decode(model, tokens, steps):
    out = tokens
    for step in range(steps):
        with torch.no_grad():
            tokens = model(tokens.cuda()).argmax(-1)
        out = torch.cat([out, tokens])
    return out
