# --- bad
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
# --- bad
import torch
from torchvision.models import resnet50

net = resnet50().cuda()
net.eval
torch.cuda.empty_cache
# --- good
import torch
from torchvision.models import resnet50

net = resnet50().cuda()
net.eval()
torch.cuda.empty_cache()
# --- bad
import gc
import torch

def release(cache):
    cache.clear()
    gc.collect
    torch.cuda.empty_cache()
# --- good
import gc
import torch

def release(cache):
    cache.clear()
    gc.collect()
    torch.cuda.empty_cache()
# --- silent
import torch

class Switch:
    @property
    def eval(self):
        self.mode = 'eval'

switch = Switch()
switch.eval
# --- silent
import torch

loss_fn = torch.nn.CrossEntropyLoss
loss_fn
model.config
step
