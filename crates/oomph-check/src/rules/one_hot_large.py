# --- bad
import torch.nn.functional as F

def loss(logits, tokens, config):
    targets = F.one_hot(tokens, config.vocab_size).float()
    return -(targets * logits.log_softmax(-1)).sum(-1).mean()
# --- good
import torch.nn.functional as F

def loss(logits, tokens, config):
    return F.cross_entropy(logits.view(-1, config.vocab_size), tokens.view(-1))
# --- bad
import torch.nn.functional as F

def smooth(logits, target, vocabulary=128256, eps=0.1):
    hot = F.one_hot(target, vocabulary).float() * (1 - eps) + eps / vocabulary
    return -(hot * logits.log_softmax(-1)).sum(-1).mean()
# --- good
import torch.nn.functional as F

def smooth(logits, target, vocabulary=128256, eps=0.1):
    return F.cross_entropy(logits.view(-1, vocabulary), target.view(-1), label_smoothing=eps)
# --- bad
import torch

VOCABULARY = 32_000

def bag(ids):
    return torch.zeros(ids.size(0), VOCABULARY, device=ids.device).scatter_(1, ids, 1.0)
# --- good
import torch

VOCABULARY = 32_000
table = torch.nn.EmbeddingBag(VOCABULARY, 64)

def bag(ids):
    return table(ids)
# --- bad
import torch

def encode(ids):
    return torch.nn.functional.one_hot(ids, num_classes=30522).to(torch.float32)
# --- good
import torch

table = torch.nn.Embedding(30522, 768)

def encode(ids):
    return table(ids)
# --- silent
import torch
import torch.nn.functional as F

def smooth(logits, target, classes=10):
    return F.one_hot(target, classes).float() + torch.zeros(8, classes).scatter_(1, target, 1)

def other(tokens, classes=50257):
    return tokens % classes
# --- silent
import torch.nn.functional as F

targets = F.one_hot(labels, 10).float()
experts = F.one_hot(chosen, num_classes=num_experts)
# --- silent
import torch.nn.functional as F

targets = F.one_hot(labels)
letters = F.one_hot(text, vocab_size)
