# --- bad
# %%
import torch
from torchvision.models import resnet18
def build():
    return resnet18().cuda()
# %%
model = build()
optimizer = torch.optim.Adam(model.parameters())
# %%
model = build()
# --- good
# %%
import torch
from torchvision.models import resnet18
def build():
    return resnet18().cuda()
# %%
model = optimizer = None
model = build()
optimizer = torch.optim.Adam(model.parameters())
# --- bad
# %%
import torch
from torchvision.models import resnet18
model = resnet18().cuda()
# %%
optimizer = torch.optim.Adam(model.parameters())
# --- good
# %%
import torch
from torchvision.models import resnet18
# %%
model = optimizer = None
model = resnet18().cuda()
optimizer = torch.optim.Adam(model.parameters())
# --- silent
import torch
from torchvision.models import resnet18
model = resnet18().cuda()
optimizer = torch.optim.Adam(model.parameters())
