import torch
import torch.nn.functional as F


def big_batch_step(model, opt, images, labels, pieces=8):
    opt.zero_grad(set_to_none=True)
    value = torch.zeros((), device=images.device)
    for x, y in zip(images.chunk(pieces), labels.chunk(pieces)):
        loss = F.cross_entropy(model(x), y) / pieces
        loss.backward()
        value += loss.detach()
    opt.step()
    return value.item()
