"""Frees the first model before the second is loaded; the cache is emptied once, between the two."""
import gc

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def answers(name, prompts):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).cuda()
    texts = []
    for p in prompts:
        ids = model.generate(**tok(p, return_tensors="pt").to("cuda"), max_new_tokens=64)
        texts.append(tok.decode(ids[0], skip_special_tokens=True))
    del model
    gc.collect()
    torch.cuda.empty_cache()
    return texts


if __name__ == "__main__":
    prompts = open("prompts.txt").read().splitlines()
    small = answers("Qwen/Qwen2.5-0.5B-Instruct", prompts)
    large = answers("Qwen/Qwen2.5-3B-Instruct", prompts)
    for a, b in zip(small, large):
        print(a, "|", b)
