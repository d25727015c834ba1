import torch
from torch import nn


def stage_one(loader):
    gen = nn.Sequential(nn.Linear(128, 8192), nn.ReLU(), nn.Linear(8192, 3 * 64 * 64)).cuda()
    optimizer = torch.optim.Adam(gen.parameters(), lr=1e-4)
    for z, img in loader:
        optimizer.zero_grad()
        nn.functional.l1_loss(gen(z.cuda()), img.cuda().flatten(1)).backward()
        optimizer.step()
    return gen, optimizer


def stage_two(loader, make_big):
    gen, optimizer = stage_one(loader)
    torch.save(gen.state_dict(), "gen.pt")
    del gen
    torch.cuda.empty_cache()
    big = make_big().cuda()
    for group in optimizer.param_groups:
        print("stage one ended with lr", group["lr"])
    return big
