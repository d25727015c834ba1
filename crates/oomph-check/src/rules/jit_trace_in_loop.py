# --- bad
import torch

def predict(model, x):
    compiled = torch.compile(model)
    return compiled(x)
# --- good
import torch

compiled = torch.compile(model)

def predict(x):
    return compiled(x)
# --- bad
import torch

for x, _ in loader:
    traced = torch.jit.trace(model, x)
    print(traced(x).mean())
# --- good
import torch

traced = torch.jit.trace(model, example)
with torch.no_grad():
    for x, _ in loader:
        print(traced(x).mean())
# --- silent
import torch

for name in ['resnet18', 'resnet50']:
    compiled = torch.compile(build(name))
    benchmark(compiled)
# --- silent
import torch

def main(model, loader, optimizer):
    model = torch.compile(model)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def predict(self, x):
    if self.compiled is None:
        self.compiled = torch.compile(self.model)
    return self.compiled(x)
