import torch


def run(model, loader):
    stream = None
    for x in loader:
        if stream is None:
            stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            model(x.cuda()).sum().backward()
# ---
import torch


def make_streams(n):
    streams = []
    for _ in range(n):
        streams.append(torch.cuda.Stream())
    return streams
# ---
import lightning as L
import torch


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.train_outs, self.val_outs = [], []

    def validation_step(self, batch, idx):
        self.val_outs.append(self.net(batch[0]))

    def finish(self, phase):
        getattr(self, f'{phase}_outs').clear()

    def on_validation_epoch_end(self):
        self.finish('val')
# ---
import lightning as L
import torch


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.outs = []

    def validation_step(self, batch, idx):
        self.outs.append(self.net(batch[0]))

    def on_validation_epoch_end(self):
        outs, self.outs = self.outs, []
        print(len(outs))
# ---
import lightning as L
import torch


def reset(*lists):
    for l in lists:
        l.clear()


class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.outs = []

    def validation_step(self, batch, idx):
        self.outs.append(self.net(batch[0]))

    def on_validation_epoch_end(self):
        reset(self.outs)
# ---
import json


def read(train_data, val_data):
    return [d['text'] for d in train_data], list(val_data)
# ---
import torch
import torch.distributed as dist


@torch.no_grad()
def evaluate(model, loader):
    preds = []
    for x in loader:
        preds.extend(model(x.cuda()).argmax(1).cpu().tolist())
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, preds)
    return everybody
# ---
import torch
import torch.distributed as dist


def mean_loss(loss):
    parts = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, loss.detach())
    return torch.stack(parts).mean().item()
# ---
import torch
import torch.distributed as dist
import torch.nn.functional as F


def contrastive(model, a, b):
    za, zb = model(a), model(b)
    parts = [torch.zeros_like(zb) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, zb)
    parts[dist.get_rank()] = zb
    sims = za @ torch.cat(parts).t()
    return F.cross_entropy(sims, torch.arange(len(za), device=za.device))
# ---
import torch
import torch.nn as nn

criterion = nn.CrossEntropyLoss().cuda()


def loss(a, b):
    return criterion(a, b)
# ---
import torch


def mask_frozen(model, names):
    for n, p in model.named_parameters():
        if n in names:
            p.grad.zero_()
# ---
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained('gpt2')
args = TrainingArguments('o')
args.eval_accumulation_steps = 2
trainer = Trainer(model=model, args=args, compute_metrics=lambda p: {})
# ---
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

model = AutoModelForSeq2SeqLM.from_pretrained('t5-small')
args = Seq2SeqTrainingArguments('o', predict_with_generate=True)
trainer = Seq2SeqTrainer(model=model, args=args, compute_metrics=lambda p: {})
# ---
import torch


class Lazy:
    def stream(self):
        if self.side is not None:
            return self.side
        self.side = torch.cuda.Stream()
        return self.side


def run(lazy: Lazy, model, loader):
    lazy = Lazy()
    with torch.inference_mode():
        for x in loader:
            with torch.cuda.stream(lazy.stream()):
                print(model(x.cuda()).argmax(1).tolist())
# ---
import torch
from functools import cache


@cache
def mask(length, device):
    return torch.ones(length, length, device=device).tril()


class Attention(torch.nn.Module):
    def forward(self, x):
        return x @ mask(self.context, x.device)
# ---
import torch
from torch import nn


class Penalty(nn.Module):
    def forward(self, a, b):
        return (a - b).abs().mean()


penalty = Penalty().cuda()


def loss(a, b):
    return penalty(a, b)
# ---
import torch


def penalised(model, loader, optimizer, criterion):
    for x, y in loader:
        settings = {'create_graph': False}
        optimizer.zero_grad()
        criterion(model(x), y).backward(**settings)
        optimizer.step()
# ---
import torch
import torch.distributed as dist


@torch.no_grad()
def test(net, loader, device):
    scores, names = [], []
    for image, name in loader:
        scores.append(net(image.to(device)).argmax(1).cpu())
        names += name
    scores = torch.cat(scores)
    parts = [None for _ in range(dist.get_world_size())]
    dist.all_gather_object(parts, {'scores': scores, 'names': names})
    return parts
# ---
import torch.nn.functional as F


def letters(ids, alphabet):
    size = len(alphabet)
    return F.one_hot(ids, size).float()
# ---
import torch


def penalty(critic, real, fake, optimizer):
    mixed = (0.5 * real + 0.5 * fake).requires_grad_(True)
    optimizer.zero_grad()
    score = critic(mixed)
    score.sum().backward(create_graph=True)
    slope = mixed.grad
    mixed.grad = None
    ((slope.norm(2, dim=1) - 1) ** 2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
# ---
import torch
from accelerate import Accelerator


class Server:
    def __init__(self, model):
        self.model = model
        for p in self.model.parameters():
            p.grad = torch.zeros_like(p)

    def add(self, gradients):
        for p, g in zip(self.model.parameters(), gradients):
            p.grad += g


def evaluate(model, val_loader):
    accelerator = Accelerator()
    model, val_loader = accelerator.prepare(model, val_loader)
    losses = []
    for batch in val_loader:
        with torch.no_grad():
            loss = model(**batch).loss
        losses.append(accelerator.gather(loss[None]))
    return torch.cat(losses).mean().item()
