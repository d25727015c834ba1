# --- bad
import torch
from torch.cuda.amp import autocast, GradScaler

scaler = GradScaler()

def step(model, x, y, criterion, optimizer):
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# --- good
import torch
from torch.amp import autocast, GradScaler

scaler = GradScaler("cuda")

def step(model, x, y, criterion, optimizer):
    with autocast("cuda"):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# --- bad
import torch

def predict(model, x, half):
    with torch.no_grad(), torch.cuda.amp.autocast(half, dtype=torch.bfloat16):
        return model(x)
# --- good
import torch

def predict(model, x, half):
    with torch.no_grad(), torch.amp.autocast("cuda", enabled=half, dtype=torch.bfloat16):
        return model(x)
# --- bad
import torch
from torch.cuda.amp import custom_bwd, custom_fwd

class Scan(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return grad.flip(0).cumsum(0).flip(0)
# --- good
import torch
from torch.amp import custom_bwd, custom_fwd

class Scan(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad.flip(0).cumsum(0).flip(0)
# --- silent
import torch

try:
    from torch.amp import GradScaler, autocast
except ImportError:
    from torch.cuda.amp import GradScaler, autocast

scaler = GradScaler()
# --- silent
import torch

if hasattr(torch.amp, 'GradScaler'):
    scaler = torch.amp.GradScaler('cuda')
else:
    scaler = torch.cuda.amp.GradScaler()
# --- silent
import torch

with torch.autocast('cuda', dtype=torch.float16):
    pass
# --- silent
from apex.amp import autocast

with autocast():
    pass
# --- silent
import torch
from packaging import version

if version.parse(torch.__version__) >= version.parse('2.4'):
    from torch.amp import custom_fwd
else:
    from torch.cuda.amp import custom_fwd
