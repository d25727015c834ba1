"""DeBERTa for essay scoring, AWP removed, gradient accumulation 4."""
import dataclasses

import torch
from torch.amp import GradScaler, autocast
from transformers import AutoModelForSequenceClassification, get_cosine_schedule_with_warmup

from essays import collate, train_dataset


@dataclasses.dataclass
class C:
    name: str = "microsoft/deberta-v3-large"
    accum: int = 4
    bs: int = 4
    epochs: int = 3
    lr: float = 8e-6
    max_norm: float = 10.0


def train(c: C):
    net = AutoModelForSequenceClassification.from_pretrained(c.name, num_labels=6).cuda()
    dl = torch.utils.data.DataLoader(train_dataset(), c.bs, shuffle=True, collate_fn=collate)
    opt = torch.optim.AdamW(net.parameters(), c.lr)
    total = c.epochs * len(dl) // c.accum
    sch = get_cosine_schedule_with_warmup(opt, int(0.1 * total), total)
    scaler = GradScaler("cuda")
    for ep in range(c.epochs):
        net.train()
        opt.zero_grad(set_to_none=True)
        for i, b in enumerate(dl):
            b = {k: v.cuda() for k, v in b.items()}
            with autocast("cuda", dtype=torch.float16):
                loss = net(**b).loss / c.accum
            scaler.scale(loss).backward()
            if (i + 1) % c.accum == 0:
                scaler.unscale_(opt)
                torch.nn.utils.clip_grad_norm_(net.parameters(), c.max_norm)
                scaler.step(opt)
                scaler.update()
                opt.zero_grad(set_to_none=True)
                sch.step()
        torch.save(net.state_dict(), f"ep{ep}.bin")


if __name__ == "__main__":
    train(C())
