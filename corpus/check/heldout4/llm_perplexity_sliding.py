"""Sliding-window perplexity over WikiText for the table in the model card."""
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def perplexity(name, text, stride=512):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda").eval()
    ids = tok(text, return_tensors="pt").input_ids
    width = model.config.max_position_embeddings
    nlls, prev = [], 0
    for begin in range(0, ids.size(1), stride):
        end = min(begin + width, ids.size(1))
        window = ids[:, begin:end].cuda()
        labels = window.clone()
        labels[:, : -(end - prev)] = -100
        out = model(window, labels=labels)
        nlls.append(out.loss * (end - prev))
        prev = end
        if end == ids.size(1):
            break
    return torch.exp(torch.stack(nlls).sum() / prev).item()


if __name__ == "__main__":
    print(perplexity(sys.argv[1], open("wiki.test.raw").read()))
