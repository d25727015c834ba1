import math
import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 8):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(r, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + (x @ self.a.t()) @ self.b.t()


def inject(model: nn.Module, names=("q_proj", "v_proj"), r=8):
    for p in model.parameters():
        p.requires_grad = False
    for mod in list(model.modules()):
        for n, child in list(mod.named_children()):
            if n in names and isinstance(child, nn.Linear):
                setattr(mod, n, LoRALinear(child, r))
    return [p for p in model.parameters() if p.requires_grad]


def fit(model, loader, lr=1e-4):
    params = inject(model)
    model.cuda().train()
    opt = torch.optim.AdamW(params, lr=lr)
    for batch in loader:
        opt.zero_grad()
        loss = model(**{k: v.cuda() for k, v in batch.items()}).loss
        loss.backward()
        opt.step()
