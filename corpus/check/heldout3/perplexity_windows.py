"""Perplexity of a causal LM over long documents with a sliding window."""
import argparse
import math

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def windows(length: int, size: int, stride: int):
    prev = 0
    for start in range(0, length, stride):
        stop = min(start + size, length)
        yield start, stop, stop - prev
        prev = stop
        if stop == length:
            return


def document_nll(model, ids, size, stride):
    nlls, tokens = [], 0
    for start, stop, fresh in windows(ids.size(1), size, stride):
        chunk = ids[:, start:stop].to(model.device)
        labels = chunk.clone()
        labels[:, :-fresh] = -100
        loss = model(chunk, labels=labels).loss
        nlls.append(loss * fresh)
        tokens += fresh
    return torch.stack(nlls).sum(), tokens


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("files", nargs="+")
    p.add_argument("--window", type=int, default=2048)
    p.add_argument("--stride", type=int, default=512)
    a = p.parse_args()
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.bfloat16).to("cuda")
    model.eval()
    nll, count = 0.0, 0
    for f in a.files:
        with open(f) as fh:
            ids = tok(fh.read(), return_tensors="pt").input_ids
        s, n = document_nll(model, ids, a.window, a.stride)
        nll += s.item()
        count += n
    print("ppl", math.exp(nll / count))


if __name__ == "__main__":
    main()
