import torch
from torch import nn
m = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, batch_first=True), 3).cuda()
opt = torch.optim.Adam(m.parameters())
for epoch in range(6):
    length = 64 * (epoch + 1)
    for i in range(10):
        m(torch.randn(16, length, 256, device="cuda")).mean().backward(); opt.step(); opt.zero_grad()
