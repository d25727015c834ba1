import torch


def hutchinson_trace(model, loss_fn, loader, samples=10):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = []
    for x, y in loader:
        loss = loss_fn(model(x.cuda()), y.cuda())
        loss.backward(create_graph=True)
        grads = [p.grad for p in params]
        t = 0.0
        for _ in range(samples):
            v = [torch.randint_like(p, 2) * 2 - 1 for p in params]
            hv = torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=True)
            t += sum((a * b).sum().item() for a, b in zip(hv, v))
        traces.append(t / samples)
    return sum(traces) / len(traces)
