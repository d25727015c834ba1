"""Perplexity of many checkpoints on one text; prints a table."""
import gc
import math
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def free(model):
    """Give the memory back before the next checkpoint."""
    del model
    gc.collect()
    torch.cuda.empty_cache()


def ppl(model, ids, window=1024):
    model.eval()
    nll, count = 0.0, 0
    for s in range(0, ids.size(1) - 1, window):
        piece = ids[:, s:s + window].cuda()
        loss = model(piece, labels=piece).loss
        nll += loss.item() * piece.size(1)
        count += piece.size(1)
    return math.exp(nll / count)


def main():
    text = open("wiki.test.raw").read()
    for path in sys.argv[1:]:
        tok = AutoTokenizer.from_pretrained(path)
        model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.float16).cuda()
        print(path, ppl(model, tok(text, return_tensors="pt").input_ids))
        free(model)


if __name__ == "__main__":
    main()
