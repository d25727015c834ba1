import torch

from .engine import run_epoch, scores


def main(net, train, val, epochs, device="cuda"):
    opt = torch.optim.AdamW(net.parameters())
    for _ in range(epochs):
        net.train()
        run_epoch(net, train, device, opt)
        net.eval()
        with torch.inference_mode():
            print(run_epoch(net, val, device))
            final = scores(net, val, device)
    return torch.cat(final)
