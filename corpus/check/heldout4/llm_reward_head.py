"""Reward model in bf16."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler
from transformers import AutoModel

from prefs import comparison_loader


class Reward(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.trunk = AutoModel.from_pretrained(name, torch_dtype=torch.bfloat16)
        self.v = nn.Linear(self.trunk.config.hidden_size, 1)

    def forward(self, ids, last):
        h = self.trunk(ids).last_hidden_state
        return self.v(h[torch.arange(len(ids)), last].float()).squeeze(-1)


model = Reward("Qwen/Qwen2.5-1.5B").cuda()
scaler = GradScaler()
opt = torch.optim.AdamW(model.parameters(), 1e-5)

for step, b in enumerate(comparison_loader()):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        good = model(b["good"].cuda(), b["good_last"].cuda())
        bad = model(b["bad"].cuda(), b["bad_last"].cuda())
        loss = -F.logsigmoid(good - bad).mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if step % 50 == 0:
        print(step, loss.item(), (good > bad).float().mean().item())
