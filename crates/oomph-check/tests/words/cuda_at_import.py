import torch

torch.cuda.set_device(0)
_workspace = torch.empty(1 << 28, dtype=torch.uint8, device='cuda:0')  # <-


def scratch(n):
    return _workspace[:n]
# ---
import torch
from .nets import Segmenter

_net = Segmenter()
_net.load_state_dict(torch.load('w.pt', map_location='cpu'))
_net = _net.cuda().eval()  # <-


def segment(x):
    with torch.no_grad():
        return _net(x)
