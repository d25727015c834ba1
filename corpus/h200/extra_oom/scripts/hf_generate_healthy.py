"""class: none
cap_mib: 8000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=8000, n_positions=512)
model = GPT2LMHeadModel(config).cuda().eval()
ids = torch.randint(0, 8000, (8, 16), device="cuda")
with torch.no_grad():
    for i in range(3):
        model.generate(ids, max_new_tokens=40, do_sample=False, pad_token_id=0)
