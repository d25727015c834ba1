import math

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM


class PerplexityMeter:
    def __init__(self):
        self.nll = 0
        self.tokens = 0

    def update(self, nll, n):
        self.nll = self.nll + nll
        self.tokens += n

    def value(self):
        return math.exp(float(self.nll) / self.tokens)


def score_corpus(name, batches):
    lm = AutoModelForCausalLM.from_pretrained(name, torch_dtype="auto").cuda()
    meter = PerplexityMeter()
    for ids in batches:
        ids = ids.cuda()
        logits = lm(ids).logits
        nll = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="sum")
        meter.update(nll, ids.numel())
    return meter.value()
