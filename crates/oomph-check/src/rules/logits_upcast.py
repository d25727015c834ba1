# --- bad
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16)
for ids in loader:
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).to(torch.float32), ids[:, 1:].flatten())
    loss.backward()
# --- good
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16)
for ids in loader:
    loss = model(ids, labels=ids).loss
    loss.backward()
# --- bad
import torch.nn.functional as F

def loss(model, hidden, labels, config):
    logits = model.lm_head(hidden)
    return F.cross_entropy(logits.float().view(-1, config.vocab_size), labels.view(-1))
# --- good
import torch.nn.functional as F

def loss(model, hidden, labels, config):
    total = 0.0
    for h, y in zip(hidden.chunk(8), labels.chunk(8)):
        total = total + F.cross_entropy(model.lm_head(h).view(-1, config.vocab_size), y.view(-1), reduction='sum')
    return total / labels.numel()
# --- silent
import torch.nn.functional as F

def loss(head, x, y):
    logits = head(x)
    return F.cross_entropy(logits.float(), y)
