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
def chunked_loss(head, hidden, labels, chunk=1024):
    loss = 0.0
    for i in range(0, hidden.size(0), chunk):
        loss = loss + torch.nn.functional.cross_entropy(head(hidden[i:i+chunk]), labels[i:i+chunk], reduction="sum")
    return loss / hidden.size(0)
# ---
import numpy as np
import torch
def mix(a, b, probability):
    use = torch.tensor(np.random.rand(len(a))).cuda() < probability
    drawn = torch.from_numpy(np.random.rand(len(a))).cuda()
    return a * use.view(-1, 1) + b * (drawn < probability).view(-1, 1)
# ---
import torch

class CandidateProcessing:
    def pad(self, coords, others):
        return torch.sqrt(torch.sum((coords[:, None, :] - others[None, :, :]) ** 2, dim=2)).min(0).values
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
import numpy as np
import torch
def table(path):
    return torch.from_numpy(np.loadtxt(path)).cuda()
def main(path, net):
    return net(table(path).float())
# ---
import torch
def label(y, classes=100):
    return torch.eye(classes, device=y.device)[y]
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
import numpy as np
import torch


def judge_video(item):
    number, name, data, label = item
    features = [x for x in data]
    return np.argmax(np.mean(features, axis=0)) == label
