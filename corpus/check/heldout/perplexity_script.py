import math

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer


def perplexity(name, stride=512, length=1024):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, dtype="auto").to("cuda")
    model.eval()
    text = "\n\n".join(load_dataset("wikitext", "wikitext-2-raw-v1", split="test")["text"])
    ids = tok(text, return_tensors="pt").input_ids
    nll, count = 0.0, 0
    for begin in range(0, ids.size(1) - 1, stride):
        window = ids[:, begin:begin + length].to("cuda")
        target = window.clone()
        target[:, :-stride] = -100
        out = model(window, labels=target)
        nll += out.loss.item() * stride
        count += stride
    return math.exp(nll / count)


if __name__ == "__main__":
    print(perplexity("gpt2-large"))
