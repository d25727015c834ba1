# --- bad
# %%
import torch
from torchvision.models import resnet18
model = resnet18().cuda()
x = torch.randn(64, 3, 224, 224, device='cuda')
# %%
model(x)
# --- good
# %%
import torch
from torchvision.models import resnet18
model = resnet18().cuda()
x = torch.randn(64, 3, 224, 224, device='cuda')
# %%
with torch.no_grad():
    out = model(x)
out.shape
# --- bad
# %%
import torch
lstm = torch.nn.LSTM(32, 64, batch_first=True).cuda()
sequence = torch.randn(64, 100, 32).cuda()
# %%
out, (h, c) = lstm(sequence)
out, h
# --- good
# %%
import torch
lstm = torch.nn.LSTM(32, 64, batch_first=True).cuda()
sequence = torch.randn(64, 100, 32).cuda()
# %%
out, (h, c) = lstm(sequence)
out.shape, h.shape
# --- bad
# %%
import torch
a = torch.randn(20000, 20000, device='cuda')
# %%
a @ a
# --- good
# %%
import torch
a = torch.randn(20000, 20000, device='cuda')
# %%
squared = a @ a
# --- silent
# %%
from library import Sampler
sampler = Sampler()
device = 'cuda'
# %%
sampler.to(device)
# --- silent
# %%
import torch
a = torch.tensor([1., 2., 3.])
# %%
a.to('cuda:0')
# --- silent
# %%
import torch
from torch import nn
model = nn.Linear(8, 2).cuda()
# %%
model(torch.ones(4, 8).cuda());
# %%
model(torch.ones(4, 8).cuda()).sum().item()
# %%
model(torch.ones(4, 8).cuda()).shape
# %%
model
# --- silent
import torch
from torch import nn
model = nn.Linear(8, 2)
model(torch.ones(4, 8))
# --- silent
# %%
import torch
a = load_features('a.npy').to('cuda')
# %%
a * 2
# --- silent
# %%
import torch
net = torch.nn.Linear(2, 1).cuda()
few = [[8., 9.], [10., 11.]]
# %%
net(torch.tensor([[8., 9.]]).cuda())
# %%
few = torch.tensor(few).float()
# %%
net(few.to('cuda'))
# --- silent
# %%
import torch
x = torch.ones(4, 8)
x
# %%
(x + 1).sum()
# %%
print(x.cuda())
