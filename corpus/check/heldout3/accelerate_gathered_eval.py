from __future__ import annotations

import torch
from accelerate import Accelerator
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader
from transformers import get_cosine_schedule_with_warmup


def evaluate(accelerator: Accelerator, model, loader) -> float:
    """Micro F1 of a tagger over the whole development set."""
    model.eval()
    logits, gold = [], []
    with torch.no_grad():
        for batch in loader:
            out = model(**batch).logits
            out, y = accelerator.gather_for_metrics((out, batch["labels"]))
            logits.append(out)
            gold.append(y)
    pred = torch.cat([o.flatten(0, 1) for o in logits]).argmax(-1)
    true = torch.cat([g.flatten() for g in gold])
    keep = true != -100
    return f1_score(true[keep].cpu(), pred[keep].cpu(), average="micro")


def train(model, train_loader: DataLoader, dev_loader: DataLoader, epochs: int = 4, lr: float = 3e-5) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=4)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    sched = get_cosine_schedule_with_warmup(opt, 100, epochs * len(train_loader) // 4)
    model, opt, train_loader, dev_loader, sched = accelerator.prepare(model, opt, train_loader, dev_loader, sched)
    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                opt.step()
                sched.step()
                opt.zero_grad()
        accelerator.print(epoch, evaluate(accelerator, model, dev_loader))
