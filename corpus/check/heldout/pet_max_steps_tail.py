from dataclasses import dataclass

import torch


@dataclass
class Config:
    max_steps: int = 250
    grad_accum: int = 16
    lr: float = 1e-5


def should_update(step, cfg):
    return (step + 1) % cfg.grad_accum == 0


def train_wrapper(model, batches, cfg):
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    opt.zero_grad()
    for step, batch in enumerate(batches):
        if step == cfg.max_steps:
            break
        loss = model(**batch).loss
        loss = loss / cfg.grad_accum
        loss.backward()
        if should_update(step, cfg):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    return model
