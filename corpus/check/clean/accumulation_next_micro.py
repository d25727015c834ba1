import torch
import torch.nn.functional as F


def main(model, optimizer, stream, iters, micro=4):
    it = iter(stream)
    for _ in range(iters):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(micro):
            x, y = next(it)
            logits = model(x.cuda())
            loss = F.cross_entropy(logits.flatten(0, 1), y.cuda().flatten())
            (loss / micro).backward()
        optimizer.step()
