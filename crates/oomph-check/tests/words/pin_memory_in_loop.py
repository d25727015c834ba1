import torch
class Mover:
    def __init__(self, loader):
        self.loader = loader
    def send(self, b):
        return {k: v.pin_memory().to("cuda", non_blocking=True) for k, v in b.items()}  # <-
    def __iter__(self):
        for b in self.loader:
            yield self.send(b)
def train(model, loader, opt):
    for b in Mover(loader):
        loss = model(**b).loss
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def to_gpu(t):
    return t.pin_memory().cuda(non_blocking=True)  # <-
def train(model, loader, opt):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(to_gpu(x)), to_gpu(y))
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def train(model, loader, opt):
    for batch in loader:
        batch = [t.pin_memory().to("cuda", non_blocking=True) for t in batch]  # <-
        loss = model(*batch)
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def train(model, loader, opt):
    for x, y in loader:
        x = torch.Tensor.pin_memory(x)
        y = y.pin_memory()  # <-
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(), loss.backward(), opt.step()
