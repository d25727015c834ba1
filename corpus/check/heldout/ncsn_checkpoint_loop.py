import os

import torch


def latest(folder):
    return max((os.path.join(folder, f) for f in os.listdir(folder)), key=os.path.getmtime)


def train(net, loader, opt, folder, sigmas):
    start = 0
    if os.path.isdir(folder):
        states = torch.load(latest(folder))
        net.load_state_dict(states[0])
        opt.load_state_dict(states[1])
        start = states[2]
    for epoch in range(start, 500):
        for x, _ in loader:
            x = x.cuda()
            s = sigmas[torch.randint(len(sigmas), (len(x),), device="cuda")].view(-1, 1, 1, 1)
            noise = torch.randn_like(x)
            loss = (net(x + s * noise, s) * s + noise).square().sum((1, 2, 3)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        torch.save([net.state_dict(), opt.state_dict(), epoch], os.path.join(folder, f"{epoch}.pt"))
