import math

import torch
from accelerate import Accelerator


def main(model, train_dl, valid_dl, opt):
    accelerator = Accelerator(mixed_precision="bf16")
    model, opt, train_dl, valid_dl = accelerator.prepare(model, opt, train_dl, valid_dl)
    for epoch in range(3):
        model.train()
        for batch in train_dl:
            loss = model(**batch).loss
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()

        model.eval()
        losses = []
        for batch in valid_dl:
            outputs = model(**batch)
            losses.append(accelerator.gather(outputs.loss.repeat(8)))
        ppl = math.exp(torch.cat(losses).mean())
        accelerator.print(f"epoch {epoch}: perplexity {ppl:.1f}")
