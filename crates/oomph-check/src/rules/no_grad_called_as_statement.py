# --- bad
import torch

def predict(model, x):
    model.eval()
    torch.no_grad()
    return model(x).argmax(-1)
# --- good
import torch

def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).argmax(-1)
# --- bad
from torch import inference_mode

def embed(encoder, batches):
    inference_mode()
    return [encoder(b).cpu() for b in batches]
# --- good
from torch import inference_mode

@inference_mode()
def embed(encoder, batches):
    return [encoder(b).cpu() for b in batches]
# --- bad
import torch

for x, y in train_loader:
    torch.autocast('cuda', dtype=torch.bfloat16)
    loss = criterion(model(x), y)
    loss.backward()
# --- good
import torch

for x, y in train_loader:
    with torch.autocast('cuda', dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    loss.backward()
# --- silent
import torch

torch.set_grad_enabled(False)
# --- silent
import torch

def run(model, x):
    guard = torch.no_grad()
    guard.__enter__()
    out = model(x)
    guard.__exit__(None, None, None)
    return out
# --- silent
import torch, pytest

def test_rejects_devices():
    with pytest.raises(RuntimeError):
        torch.autocast('nowhere')
# --- silent
import torch

class Display:
    def run(self, frames):
        torch.no_grad()
        self.model.eval()
        for frame in frames:
            show(self.model(frame))

def main():
    display = Display()
    with torch.no_grad():
        display.run(frames())
# --- silent
import torch

def amp_works():
    try:
        torch.autocast('cuda', dtype=torch.bfloat16)
    except RuntimeError:
        return False
    return True
# --- silent
from contextlib import contextmanager

@contextmanager
def no_grad():
    yield

no_grad()
