import torch
import torch.nn.functional as F
from transformers import AutoTokenizer

tok = AutoTokenizer.from_pretrained('gpt2')


def soft_targets(ids):
    return F.one_hot(ids, num_classes=len(tok)).float()  # <-
# ---
import torch

NUM_ITEMS = 200_000


def history_matrix(users, items):
    m = torch.zeros(len(users), NUM_ITEMS)
    m[torch.arange(len(users)), items] = 1.0  # <-
    return m.cuda()
# ---
import torch
from torch.nn.functional import one_hot

cfg = {'vocab_size': 30522, 'hidden': 256}


def loss_fn(logits, y):
    target = one_hot(y, cfg['vocab_size']).type_as(logits)  # <-
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
# ---
import torch


def soft(target, model):
    v = model.get_input_embeddings().num_embeddings
    return torch.nn.functional.one_hot(target, v).to(torch.bfloat16)  # <-
