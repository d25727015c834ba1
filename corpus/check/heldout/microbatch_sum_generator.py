import torch
import torch.nn.functional as F


def micro_loss(model, ids):
    logits = model(ids[:, :-1]).logits
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def train(model, loader, opt, micro=4):
    for ids in loader:
        ids = ids.to("cuda")
        opt.zero_grad(set_to_none=True)
        loss = sum(micro_loss(model, part) for part in ids.chunk(micro)) / micro
        loss.backward()
        opt.step()
