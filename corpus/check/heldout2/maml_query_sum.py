import torch
import torch.nn.functional as F


def finetune_many(model, tasks, opt):
    """First-order: one update from the losses of all tasks."""
    opt.zero_grad()
    query_loss = 0
    for task in tasks:
        x, y = task.query()
        query_loss = query_loss + F.cross_entropy(model(x.cuda()), y.cuda())
    (query_loss / len(tasks)).backward()
    opt.step()
    return query_loss.item() / len(tasks)


def outer(model, sampler, opt, iterations):
    for it in range(iterations):
        value = finetune_many(model, sampler(16), opt)
        if it % 10 == 0:
            print(it, value)
