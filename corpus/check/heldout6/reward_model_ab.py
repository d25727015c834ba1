import torch
import torch.nn.functional as F
from accelerate import Accelerator


def evaluate(model, loader, acc):
    model.eval()
    wins = 0
    total = 0
    for batch in loader:
        chosen = model(**batch["chosen"]).logits.squeeze(-1)
        rejected = model(**batch["rejected"]).logits.squeeze(-1)
        both = acc.gather_for_metrics((chosen > rejected).float())
        wins += both.sum().item()
        total += both.numel()
    model.train()
    return wins / total


def main(model, train_loader, dev_loader, steps):
    acc = Accelerator(gradient_accumulation_steps=8, mixed_precision="bf16")
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    model, opt, train_loader, dev_loader = acc.prepare(model, opt, train_loader, dev_loader)
    done = 0
    for batch in train_loader:
        with acc.accumulate(model):
            margin = model(**batch["chosen"]).logits - model(**batch["rejected"]).logits
            loss = -F.logsigmoid(margin).mean()
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        done += 1
        if done % 500 == 0:
            acc.print(done, evaluate(model, dev_loader, acc))
        if done == steps:
            break
