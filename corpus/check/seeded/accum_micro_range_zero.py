import torch
import torch.nn.functional as F


def get_batch(it):
    x, y = next(it)
    return x.cuda(non_blocking=True), y.cuda(non_blocking=True)


def main(model, optimizer, it, max_iters=1000, gradient_accumulation_steps=5):
    for iter_num in range(max_iters):
        for micro_step in range(gradient_accumulation_steps):
            X, Y = get_batch(it)
            optimizer.zero_grad()
            logits = model(X)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), Y.view(-1))
            (loss / gradient_accumulation_steps).backward()
        optimizer.step()
