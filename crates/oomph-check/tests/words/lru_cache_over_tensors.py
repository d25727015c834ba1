import functools
import torch
from transformers import CLIPTextModel
class Prompts:
    def __init__(self, name, tok):
        self.net = CLIPTextModel.from_pretrained(name).cuda().eval()
        self.tok = tok
    @functools.cache  # <-
    def encode(self, prompt: str) -> torch.Tensor:
        with torch.inference_mode():
            return self.net(self.tok(prompt).cuda()).last_hidden_state
# ---
from functools import lru_cache
import torch
from torchvision.models import resnet50
net = resnet50().cuda().eval()
@lru_cache(maxsize=None)  # <-
def features(path):
    with torch.no_grad():
        return net(read(path).cuda())
@lru_cache(maxsize=None)
def numbers(path):
    with torch.no_grad():
        return net(read(path).cuda()).cpu()
# ---
import torch, torchaudio
from functools import lru_cache, cache
class DS(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files
    def __len__(self):
        return len(self.files)
    @cache  # <-
    def load(self, i):
        wav, sr = torchaudio.load(self.files[i])
        return wav
    def __getitem__(self, i):
        return self.load(i)
# ---
import torch
from functools import lru_cache
from torchvision.io import read_image
@lru_cache(maxsize=None)  # <-
def frame(path):
    return read_image(path).float() / 255
class DS(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files
    def __getitem__(self, i):
        return frame(self.files[i])
# ---
import torch
import functools
@functools.lru_cache(maxsize=None)  # <-
def positions(n, d, device):
    p = torch.arange(n, device=device)[:, None] * torch.ones(d, device=device)
    return p
# ---
import torch
from functools import lru_cache
class Enc:
    def __init__(self, model, tok):
        self.model, self.tok = model.cuda().eval(), tok
    @lru_cache(maxsize=None)  # <-
    def text(self, prompt):
        with torch.no_grad():
            return self.model(**self.tok(prompt, return_tensors="pt").to("cuda")).last_hidden_state
# ---
import torch
from functools import lru_cache
@lru_cache(maxsize=1024)  # <-
def causal(n, device="cuda"):
    return torch.ones(n, n, device=device).tril()
# ---
import torch
from functools import lru_cache
@lru_cache(2048)  # <-
def band(n, w, device="cuda"):
    i = torch.arange(n, device=device)
    return (i.unsqueeze(0) - i.unsqueeze(1)).abs() < w
# ---
import numpy as np, torch
from functools import lru_cache
class DS(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows
    @lru_cache(maxsize=None)  # <-
    def item(self, i):
        return torch.from_numpy(np.load(self.rows[i])).float()
    def __getitem__(self, i):
        return self.item(i)
