import torch
import torch.nn as nn
from transformers import GPT2LMHeadModel, GPT2TokenizerFast
from transformers.pytorch_utils import Conv1D


class LoRA(nn.Module):
    def __init__(self, base: Conv1D, r=8, alpha=16):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(base.weight.shape[0], r) * 0.01)
        self.b = nn.Parameter(torch.zeros(r, base.nf))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.a @ self.b) * self.scale


model = GPT2LMHeadModel.from_pretrained("gpt2-xl")
for name, param in model.named_parameters():
    param.require_grad = False
for block in model.transformer.h:
    block.attn.c_attn = LoRA(block.attn.c_attn)
model.cuda()

print("trainable:", sum(p.numel() for p in model.parameters() if p.requires_grad))
tok = GPT2TokenizerFast.from_pretrained("gpt2")
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
stories = open("stories.txt").read().split("<|endoftext|>")
model.train()
for epoch in range(2):
    for s in stories:
        ids = tok(s, return_tensors="pt", truncation=True, max_length=1024).input_ids.cuda()
        loss = model(ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
