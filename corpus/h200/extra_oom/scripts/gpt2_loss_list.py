"""class: leak
cap_mib: 3000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=8000, n_positions=256)
model = GPT2LMHeadModel(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
losses = []
for step in range(10000):
    ids = torch.randint(0, 8000, (8, 256), device="cuda")
    out = model(input_ids=ids, labels=ids)  # guilty
    losses.append(out.logits)
    loss = out.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
