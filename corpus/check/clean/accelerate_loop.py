import torch
from accelerate import Accelerator


def main(model, train_dl, val_dl, epochs):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    opt = torch.optim.AdamW(model.parameters())
    model, opt, train_dl, val_dl = accelerator.prepare(model, opt, train_dl, val_dl)
    for _ in range(epochs):
        model.train()
        total = 0.0
        for batch in train_dl:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                opt.step()
                opt.zero_grad()
                total += loss.detach().float()
        model.eval()
        correct = 0
        for batch in val_dl:
            with torch.no_grad():
                out = model(**batch)
            pred, ref = accelerator.gather_for_metrics((out.logits.argmax(-1), batch["labels"]))
            correct += (pred == ref).sum().item()
        accelerator.print(total.item(), correct)
