# --- bad
import torch

for x, y in loader:
    x = x.pin_memory().cuda(non_blocking=True)
    print(x.mean().item())
# --- good
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
for x, y in loader:
    x = x.cuda(non_blocking=True)
    print(x.mean().item())
# --- bad
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __getitem__(self, index):
        return torch.from_numpy(self.points[index]).pin_memory()
# --- good
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __getitem__(self, index):
        return torch.from_numpy(self.points[index])
# --- bad
import torch

def stream(net, reader):
    with torch.inference_mode():
        for chunk in reader:
            chunk = torch.from_numpy(chunk).pin_memory()
            yield net(chunk.to('cuda', non_blocking=True)).cpu()
# --- good
import torch

def stream(net, reader, shape):
    buffer = torch.empty(shape).pin_memory()
    with torch.inference_mode():
        for chunk in reader:
            buffer.copy_(torch.from_numpy(chunk))
            yield net(buffer.to('cuda', non_blocking=True)).cpu()
# --- silent
import torch

def offload(model, rows):
    kept = {}
    for name, parameter in model.named_parameters():
        kept[name] = parameter.data.cpu().pin_memory()
    buffers = [torch.empty(8, 8).pin_memory() for _ in range(4)]
    for row in rows:
        kept[row] = torch.from_numpy(row).pin_memory()
    return kept, buffers
# --- silent
import torch

class Batch:
    def pin_memory(self):
        for name in self.names:
            setattr(self, name, getattr(self, name).pin_memory())
        return self
# --- silent
import torch

buffer = torch.empty(64, 3, 224, 224).pin_memory()
for x, _ in loader:
    buffer.copy_(x)
