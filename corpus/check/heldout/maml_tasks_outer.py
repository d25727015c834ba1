import torch
from torch.func import functional_call


def adapt(net, params, support, lr):
    x, y = support
    loss = torch.nn.functional.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()))
    return {k: p - lr * g.detach() for (k, p), g in zip(params.items(), grads)}


def meta_step(net, opt, tasks, inner_lr=0.01):
    """First-order MAML over a batch of tasks."""
    opt.zero_grad()
    meta_loss = torch.zeros((), device="cuda")
    for support, query in tasks:
        params = dict(net.named_parameters())
        fast = adapt(net, params, support, inner_lr)
        pred = functional_call(net, fast, (query[0],))
        meta_loss += torch.nn.functional.mse_loss(pred, query[1])
    meta_loss = meta_loss / len(tasks)
    meta_loss.backward()
    opt.step()
    return meta_loss.item()
