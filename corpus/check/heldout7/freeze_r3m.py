"""Fine-tune only the head on top of R3M. Question: why do I still need 18 GB if the encoder is frozen??"""
import torch
import torch.nn as nn
from r3m import load_r3m
from torch.utils.data import DataLoader

from kitchen import KitchenDemos

enc = load_r3m("resnet50").module.cuda()
head = nn.Sequential(nn.BatchNorm1d(2048), nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 9)).cuda()

for p in enc.parameters():
    p.requires_grad == False

net = nn.Sequential(enc, head)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(KitchenDemos(), batch_size=64, shuffle=True, num_workers=4)
lossf = nn.MSELoss()

for epoch in range(20):
    net.train()
    tot = 0.0
    for frame, action in loader:
        frame = frame.cuda()
        action = action.cuda()
        out = net(frame * 255.0)
        loss = lossf(out, action)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        # free the gpu before the next batch
        torch.cuda.empty_cache()
    print("epoch %d loss %.4f" % (epoch, tot / len(loader)))
torch.save(head.state_dict(), "head.pt")
