import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
acc = Accelerator(gradient_accumulation_steps=4)
net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512))
opt = torch.optim.AdamW(net.parameters())
train = DataLoader(TensorDataset(torch.randn(4096, 512)), 32, shuffle=True); val = DataLoader(TensorDataset(torch.randn(4096, 512)), 1024)
net, opt, train, val = acc.prepare(net, opt, train, val)
for epoch in range(2):
    net.train()
    for (x,) in train:
        with acc.accumulate(net):
            loss = (net(x) - x).square().mean(); acc.backward(loss); opt.step(); opt.zero_grad()
    net.eval(); losses = []
    for (x,) in val:
        with torch.no_grad(): losses.append(acc.gather((net(x) - x).square().mean().repeat(8)))
    torch.cat(losses)
    acc.save_state("state")
