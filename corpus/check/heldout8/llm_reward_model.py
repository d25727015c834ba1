import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class RewardModel(nn.Module):
    def __init__(self, backbone, use_ckpt=True):
        super().__init__()
        self.backbone, self.use_ckpt = backbone, use_ckpt
        self.v = nn.Linear(backbone.config.hidden_size, 1, bias=False)

    def forward(self, ids, mask):
        h = self.backbone.embed_tokens(ids)
        for layer in self.backbone.layers:
            h = checkpoint(layer, h, mask) if self.use_ckpt and self.training else layer(h, mask)
        last = mask.sum(1) - 1
        return self.v(h[torch.arange(len(ids), device=ids.device), last]).squeeze(-1)


def train(rm, loader, opt, epochs=1):
    rm.train()
    acc = 0
    for ep in range(epochs):
        for n, b in enumerate(loader, 1):
            rc = rm(b["c_ids"].cuda(), b["c_mask"].cuda())
            rr = rm(b["r_ids"].cuda(), b["r_mask"].cuda())
            loss = -F.logsigmoid(rc - rr).mean()
            loss.backward()
            opt.step()
            acc += (rc > rr).float().mean().item()
            if n % 100 == 0:
                print(ep, n, loss.item(), acc / n)
