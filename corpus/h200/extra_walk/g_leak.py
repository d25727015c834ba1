import torch
net = torch.nn.Linear(4096, 4096).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
history = []
for i in range(40):
    out = net(torch.randn(1024, 4096, device="cuda")); loss = out.mean()
    loss.backward(); opt.step(); opt.zero_grad()
    history.append(out.detach())
