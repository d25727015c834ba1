from functools import partial

import torch
from accelerate import Accelerator


def margin(model, batch):
    c = model(batch["chosen_ids"], attention_mask=batch["chosen_mask"]).logits
    r = model(batch["rejected_ids"], attention_mask=batch["rejected_mask"]).logits
    return c - r


def run_eval(accelerator: Accelerator, model, loader, step_fn):
    model.eval()
    right, n = 0, 0
    for batch in loader:
        m = step_fn(batch)
        m = accelerator.gather_for_metrics(m)
        right += (m > 0).sum().item()
        n += m.numel()
    model.train()
    return right / n


def main(model, train_dl, val_dl, opt, epochs):
    accelerator = Accelerator(mixed_precision="bf16")
    model, opt, train_dl, val_dl = accelerator.prepare(model, opt, train_dl, val_dl)
    for ep in range(epochs):
        for batch in train_dl:
            loss = -torch.nn.functional.logsigmoid(margin(model, batch)).mean()
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            torch.cuda.empty_cache()
        acc = run_eval(accelerator, model, val_dl, partial(margin, model))
        accelerator.print(ep, acc)
