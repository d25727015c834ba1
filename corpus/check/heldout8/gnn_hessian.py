import torch
import torch.nn.functional as F


def hutchinson(model, data, probes=10):
    """Trace of the Hessian of the training loss, for the slides on flat minima."""
    params = [p for p in model.parameters() if p.requires_grad]
    total = 0.0
    for _ in range(probes):
        model.zero_grad()
        loss = F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward(create_graph=True)
        vs = [torch.randint_like(p, 2) * 2 - 1 for p in params]
        gv = sum((p.grad * v).sum() for p, v in zip(params, vs))
        hv = torch.autograd.grad(gv, params)
        total += sum((h * v).sum().item() for h, v in zip(hv, vs))
    return total / probes
