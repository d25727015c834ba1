# --- bad
import torch

ZERO = torch.zeros(1, device='cuda')

def clamp(x):
    return torch.maximum(x, ZERO)

class Head(torch.nn.Module):
    pass
# --- good
import torch

def clamp(x):
    return x.clamp(min=0)

class Head(torch.nn.Module):
    pass
# --- silent
import torch

ARCH = torch.cuda.get_device_capability()

class Kernel:
    def run(self, x):
        return x if ARCH >= (9, 0) else None
# --- silent
import torch

bce_loss = torch.nn.BCELoss().cuda()

def step(x, y):
    return bce_loss(x, y)

class Head(torch.nn.Module):
    pass
# --- silent
import torch

def build():
    return torch.zeros(1, device='cuda')

if __name__ == '__main__':
    print(build().cuda())
# --- silent
import torch

DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

def build():
    return torch.zeros(1, device=DEVICE)
# --- silent
import torch

model = torch.nn.Linear(2, 2).cuda()
for x in loader:
    print(model(x))
