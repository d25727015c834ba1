import torch


def safe_forward(net, batch):
    try:
        return net(batch)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.clear_cache()
        return None
