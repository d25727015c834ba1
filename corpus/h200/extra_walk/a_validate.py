import torch
from torch import nn
net = nn.Sequential(nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048)).cuda()
opt = torch.optim.AdamW(net.parameters())
def validate():
    net.eval()
    outs = []
    with torch.no_grad():
        for i in range(10):
            outs.append(net(torch.randn(16384, 2048, device="cuda")).mean(1))
    net.train()
    return torch.cat(outs).mean().item()
for epoch in range(4):
    for i in range(30):
        loss = net(torch.randn(512, 2048, device="cuda")).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
    print(epoch, validate())
    torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
