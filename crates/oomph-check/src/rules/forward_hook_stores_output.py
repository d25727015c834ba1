# --- bad
import torch
from torchvision.models import resnet18

model = resnet18()
acts = []
model.layer4.register_forward_hook(lambda m, i, o: acts.append(o))
for images, _ in loader:
    model(images)
# --- good
import torch
from torchvision.models import resnet18

model = resnet18()
acts = []
handle = model.layer4.register_forward_hook(lambda m, i, o: acts.append(o.detach()))
with torch.no_grad():
    for images, _ in loader:
        model(images)
        print(acts[0].mean())
        acts.clear()
handle.remove()
# --- bad
import torch

class Probe:
    def __init__(self, model):
        self.model = model
        self.features = []
        model.backbone.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        self.features.append(output)

    def run(self, loader):
        for x, _ in loader:
            self.model(x)
        return [f.shape for f in self.features]
# --- good
import torch

class Probe:
    def __init__(self, model):
        self.model = model
        self.features = []
        model.backbone.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        self.features.append(output.shape)

    def run(self, loader):
        for x, _ in loader:
            self.model(x)
        return self.features
# --- silent
import torch

latest = {}
model.layer4.register_forward_hook(lambda m, i, o: latest.update(out=o))
def keep(module, inputs, output):
    latest['out'] = output
model.layer3.register_forward_hook(keep)
for x, _ in loader:
    model(x)
# --- silent
import torch

acts = []
def hook(m, i, o):
    acts.append(o)
model.fc.register_forward_hook(hook)
model(torch.randn(1, 3, 224, 224))
print(acts[0].shape)
# --- silent
import torch

acts = []
def hook(m, i, o):
    acts.append(o.mean().item())
model.fc.register_forward_hook(hook)
for x, _ in loader:
    model(x)
# --- silent
import torch

def features(model, loader):
    out = []
    for x, _ in loader:
        acts = []
        handle = model.fc.register_forward_hook(lambda m, i, o: acts.append(o))
        model(x)
        handle.remove()
        out.append(acts[0].mean().item())
    return out
