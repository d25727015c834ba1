"""Generates text with a GPT-2 made from its configuration."""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

model = GPT2LMHeadModel(GPT2Config(n_embd=512, n_layer=4, n_head=8)).to(args.device).eval()
for _ in range(2):
    prompt = torch.randint(0, 50_000, (2, 64), device=args.device)
    text = model.generate(prompt, max_new_tokens=8, do_sample=False, pad_token_id=0)
print(text.shape)
