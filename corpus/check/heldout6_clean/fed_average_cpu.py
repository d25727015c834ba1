import torch
import torch.nn.functional as F


def local(model, loader, lr, device="cuda"):
    model.to(device).train()
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        opt.step()
    return {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}


def rounds(model, loaders, n, lr=0.01):
    for _ in range(n):
        start = {k: v.cpu().clone() for k, v in model.state_dict().items()}
        acc = None
        for loader in loaders:
            model.load_state_dict(start)
            w = local(model, loader, lr)
            if acc is None:
                acc = {k: v.float() / len(loaders) for k, v in w.items()}
            else:
                for k, v in w.items():
                    acc[k] += v.float() / len(loaders)
        model.load_state_dict(acc)
