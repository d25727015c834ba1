"""One loop for both phases, gradients switched by the phase."""
import torch
from torch import nn


def run_phase(phase, net, loader, crit, opt, device):
    train = phase == "train"
    net.train(train)
    running, right, seen = 0.0, 0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.set_grad_enabled(train):
            out = net(x)
            loss = crit(out, y)
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()
        running += loss.item() * len(y)
        right += (out.argmax(1) == y).sum().item()
        seen += len(y)
    return running / seen, right / seen


def fit(net, loaders, epochs=25, lr=1e-3, device="cuda"):
    net = net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    best = 0.0
    for e in range(epochs):
        for phase in ("train", "val"):
            loss, acc = run_phase(phase, net, loaders[phase], crit, opt, device)
            print(e, phase, f"{loss:.4f} {acc:.4f}")
        if acc > best:
            best = acc
            torch.save(net.state_dict(), "best.pt")
    return best
