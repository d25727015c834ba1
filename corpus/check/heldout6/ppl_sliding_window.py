"""Perplexity over long documents with a sliding window."""
import argparse
import math

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def windows(ids, size, stride):
    prev = 0
    for begin in range(0, ids.size(1), stride):
        end = min(begin + size, ids.size(1))
        yield ids[:, begin:end], end - prev
        prev = end
        if end == ids.size(1):
            return


def perplexity(model, ids, size, stride):
    nlls, count = [], 0
    for piece, fresh in windows(ids, size, stride):
        piece = piece.to(model.device)
        target = piece.clone()
        target[:, :-fresh] = -100
        out = model(piece, labels=target)
        nlls.append(out.loss * fresh)
        count += fresh
    return math.exp(torch.stack(nlls).sum().item() / count)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model")
    ap.add_argument("text")
    ap.add_argument("--stride", type=int, default=512)
    a = ap.parse_args()
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16).cuda().eval()
    ids = tok(open(a.text).read(), return_tensors="pt").input_ids
    print(perplexity(model, ids, 2048, a.stride))


if __name__ == "__main__":
    main()
