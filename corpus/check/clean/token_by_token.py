import torch


@torch.no_grad()
def generate(model, ids, steps, temperature=1.0):
    model.eval()
    for _ in range(steps):
        logits = model(ids[:, -1024:])[:, -1] / temperature
        nxt = torch.multinomial(logits.softmax(-1), 1)
        ids = torch.cat((ids, nxt), dim=1)
    return ids
