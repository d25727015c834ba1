# --- bad
import torch
import torch.nn.functional as F

def nll(x, y):
    return F.nll_loss(torch.log(F.softmax(x, dim=1)), y)
# --- good
import torch
import torch.nn.functional as F

def nll(x, y):
    return F.nll_loss(F.log_softmax(x, dim=1), y)
# --- bad
import torch

def scores(logits):
    return logits.softmax(dim=-1).log()

def other(logits):
    return torch.softmax(logits, -1).log()
# --- good
import torch

def scores(logits):
    return logits.log_softmax(dim=-1)

def other(logits):
    return torch.log_softmax(logits, -1)
# --- bad
import torch

def entropy(logits):
    p = torch.softmax(logits, -1)
    return torch.log(p + 1e-9).mean()
# --- good
import torch

def entropy(logits):
    return torch.log_softmax(logits, -1).mean()
# --- silent
import torch

def entropy(logits):
    p = logits.softmax(-1)
    return -(p * p.log()).sum(-1)
