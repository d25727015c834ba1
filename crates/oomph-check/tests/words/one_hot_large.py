import torch.nn.functional as F
from transformers import AutoTokenizer


class Words:
    def loss(self, logits, text):
        return (F.one_hot(text, self.tokenizer.vocab_size) * logits).sum()  # <-
# ---
import torch.nn.functional as F
from torch import nn
TOKENS = 32_000
class Smooth(nn.Module):
    def __init__(self, tokens=TOKENS, eps=0.1):
        super().__init__()
        self.tokens, self.eps = tokens, eps
    def forward(self, scores, target):
        hot = F.one_hot(target, self.tokens).float()  # <-
        return -(hot * scores.log_softmax(-1)).sum(-1).mean()
# ---
import torch.nn.functional as F
class Settings:
    entries = 50_000
def bag(ids, entries=Settings.entries):
    return F.one_hot(ids, num_classes=entries).sum(1)  # <-
# ---
import torch.nn.functional as F
CLASSES = 104
def dice(logits, labels):
    truth = F.one_hot(labels, CLASSES).permute(0, 4, 1, 2, 3)  # <-
    return (logits.softmax(1) * truth).sum()
def few(logits, labels, classes=4):
    truth = F.one_hot(labels, classes).permute(0, 4, 1, 2, 3)
    return (logits.softmax(1) * truth).sum()
# ---
import torch
import torch.nn.functional as F
def confusion(pred, true, n=171):
    a = F.one_hot(pred, n)  # <-
    b = F.one_hot(true, n)  # <-
    return torch.einsum("bhwi,bhwj->ij", a.float(), b.float())
def pairs(pred, true, n=171):
    a, b = F.one_hot(pred, n), F.one_hot(true, n)
    return torch.einsum("bi,bj->ij", a.float(), b.float())
# ---
import torch
LABELS = 80
def soft(logits, labels):
    g = torch.eye(LABELS, device=labels.device)[labels].permute(0, 3, 1, 2)  # <-
    return (logits.softmax(1) * g).mean()
def small(logits, labels):
    g = torch.eye(10, device=labels.device)[labels].permute(0, 3, 1, 2)
    return (logits.softmax(1) * g).mean()
# ---
import torch
import torch.nn.functional as F


def sample(model, batches):
    classes = 10000
    for labels in batches:
        hot = F.one_hot(torch.tensor(labels), num_classes=classes)  # <-
        print(model.sample(hot))
