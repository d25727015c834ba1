import torch


def rademacher(p):
    return torch.randint_like(p, 0, 2) * 2 - 1


def trace_estimate(model, loss_fn, batch, samples=10):
    params = [p for p in model.parameters() if p.requires_grad]
    x, y = batch
    loss = loss_fn(model(x.cuda()), y.cuda())
    loss.backward(create_graph=True)
    grads = [p.grad for p in params]
    est = 0.0
    for _ in range(samples):
        v = [rademacher(p) for p in params]
        hv = torch.autograd.grad(grads, params, v, retain_graph=True)
        est += sum((a * b).sum().item() for a, b in zip(hv, v))
    return est / samples
