import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader

from graphcast_torch import GraphCast, MeshData


def train_epoch(model, loader, opt):
    model.train()
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


if __name__ == "__main__":
    model = GraphCast(mesh_level=5, latent=512).cuda()
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    loader = DataLoader(MeshData("1979-2015"), 1, shuffle=True, num_workers=8)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 profile_memory=True, record_shapes=True, with_stack=True) as prof:
        loss = train_epoch(model, loader, opt)
    print(loss)
    prof.export_chrome_trace("epoch0.json")
    for ep in range(1, 40):
        print(ep, train_epoch(model, loader, opt))
