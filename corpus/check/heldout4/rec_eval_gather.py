"""Recall@K over all ranks."""
import torch
import torch.distributed as dist


@torch.no_grad()
def evaluate(model, loader, k=100):
    model.eval()
    world = dist.get_world_size()
    hits = total = 0
    for users, truth in loader:
        scores = model(users.cuda())
        everyone = [None] * world
        dist.all_gather_object(everyone, (scores, truth))
        for s, t in everyone:
            top = s.to("cuda").topk(k, dim=1).indices
            hits += (top == t.to("cuda")[:, None]).any(1).sum().item()
            total += len(t)
    return hits / total


def train_epoch(model, loader, opt):
    model.train()
    for users, items in loader:
        loss = model.module.loss(model(users.cuda()), items.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def fit(model, train, valid, opt, epochs=10):
    for e in range(epochs):
        loss = train_epoch(model, train, opt)
        recall = evaluate(model, valid)
        if dist.get_rank() == 0:
            print(e, loss, recall, flush=True)
