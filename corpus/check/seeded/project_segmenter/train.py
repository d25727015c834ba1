import torch

from .engine import forward_loss, validate


def main(net, train_loader, val_loader, epochs, device="cuda"):
    opt = torch.optim.Adam(net.parameters())
    for ep in range(epochs):
        net.train()
        for batch in train_loader:
            loss = forward_loss(net, batch, device)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, validate(net, val_loader, device))
