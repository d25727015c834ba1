import torch
from torch import nn
torch.manual_seed(0)
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, batch_first=True), 4).cuda()
opt = torch.optim.Adam(net.parameters())
global_step = 0
while global_step < 50:
    x = torch.randn(8, 128, 512, device="cuda")
    loss = net(x).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
    global_step += 1
    if global_step % 20 == 0:
        net.eval()
        with torch.no_grad():
            y = net(torch.randn(64, 512, 512, device="cuda"))
        net.train()
        del y
