"""Perplexity of checkpoints; halves the batch until it fits."""
import math
import sys

import torch
from transformers import AutoModelForCausalLM


@torch.no_grad()
def nll(model, ids, bs):
    total = 0.0
    for s in range(0, len(ids), bs):
        x = ids[s:s + bs].cuda()
        total += model(x, labels=x).loss.item() * len(x)
    return total / len(ids)


def fit_and_score(model, ids, bs=64):
    while True:
        try:
            return nll(model, ids, bs)
        except RuntimeError as err:
            if "out of memory" in str(err):
                bs //= 2
                torch.cuda.clear_cache()
            else:
                raise


if __name__ == "__main__":
    ids = torch.load("wikitext_ids.pt", map_location="cpu")
    for path in sys.argv[1:]:
        m = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16).cuda().eval()
        print(path, math.exp(fit_and_score(m, ids)))
        del m
