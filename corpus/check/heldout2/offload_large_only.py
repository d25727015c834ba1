import torch


def make_hooks(threshold):
    def pack(x):
        if x.numel() < threshold:
            return ("gpu", x)
        return ("cpu", x.device, x.to("cpu"))

    def unpack(item):
        if item[0] == "gpu":
            return item[1]
        _, device, data = item
        return data.to(device)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def step(model, x, y, opt, loss_fn):
    opt.zero_grad()
    with make_hooks(1 << 20):
        loss = loss_fn(model(x), y)
    loss.backward()
    opt.step()
    return loss.item()
