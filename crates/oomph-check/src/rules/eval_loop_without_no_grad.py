# --- bad
import torch

def evaluate(model, test_loader):
    model.eval()
    correct = 0
    for x, y in test_loader:
        pred = model(x).argmax(1)
        correct += (pred == y).sum().item()
    return correct
# --- good
import torch

def evaluate(model, test_loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            pred = model(x).argmax(1)
            correct += (pred == y).sum().item()
    return correct
# --- silent
import torch
from torchvision.models import resnet18

def pass_over(model, loader, criterion):
    total = 0.0
    for x, y in loader:
        total += criterion(model(x.cuda()), y.cuda()).item()
    return total

model = resnet18().cuda()
model.eval()
# --- silent
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self, requires_grad=False):
        super().__init__()
        self.body = nn.Conv2d(3, 64, 3)
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad

    def forward(self, x):
        return self.body(x)

def activations(model, loader):
    model.eval()
    return [model(x.cuda()).mean().item() for x, _ in loader]

def score(loader):
    model = Features().cuda()
    model.eval()
    for x, _ in loader:
        print(model(x.cuda()).mean().item())
# --- silent
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Linear(8, 8)])

    def inference(self, loader, device):
        outs = []
        for x in loader:
            outs.append(self.convs[0](x.to(device)).cpu())
        return torch.cat(outs)

@torch.no_grad()
def test(model, loader, device):
    model.eval()
    return model.inference(loader, device)
# --- silent
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.body = nn.ModuleList([nn.Linear(8, 8) for _ in range(levels)])
        self.frozen = nn.Linear(8, 8)

    def features(self, xs):
        self.frozen.eval()
        outs = []
        for x, level in zip(xs, self.body):
            outs.append(level(x))
        return torch.cat(outs)
# --- silent
import torch

@torch.no_grad()
def evaluate(model, test_loader):
    model.eval()
    for x, y in test_loader:
        print(model(x))
# --- silent
import torch

def attack(model, test_loader, criterion):
    model.eval()
    for x, y in test_loader:
        x.requires_grad_(True)
        loss = criterion(model(x), y)
        loss.backward()
        print(x.grad)
# --- silent
import torch

def evaluate(model, test_loader):
    model.eval()
    for x, y in test_loader:
        print(model(x))

def main(model, test_loader):
    with torch.no_grad():
        evaluate(model, test_loader)
    print(list(model.parameters()))
# --- silent
import torch

def run(model, loaders, criterion, optimizer):
    for phase in ['train', 'val']:
        model.train(phase == 'train')
        for x, y in loaders[phase]:
            optimizer.zero_grad()
            if phase == 'train':
                out = model(x)
            else:
                with torch.no_grad():
                    out = model(x)
            loss = criterion(out, y)
            if phase == 'train':
                loss.backward()
                optimizer.step()
# --- silent
import torch
from torch import nn

class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(8, 8), requires_grad=False)

    def forward(self, x):
        return x @ self.weights

def evaluate(test_loader):
    net = Spiking()
    net.eval()
    for x, y in test_loader:
        print(net(x).argmax(1))
# --- silent
import torch
from engine import Batches

class Classifier(Batches):
    def val_step(self, model, batch):
        found = []
        for part in batch['image'].split(8):
            found.append(model(part).argmax(1))
        return torch.cat(found)
# --- silent
import torch
import lightning as L

class Pictures(L.Callback):
    def on_validation_end(self, trainer, pl_module):
        for images, labels in trainer.val_dataloaders:
            print(pl_module(images).argmax(1))
# --- silent
import torch
import unittest

class DecoderTest(unittest.TestCase):
    def test_infer(self):
        decoder = torch.nn.Linear(8, 8)
        decoder.eval()
        for x in [torch.zeros(8), torch.ones(8)]:
            self.assertEqual(decoder(x).shape, (8,))
# --- silent
from frame import Loader

class Trainer:
    def _validate(self):
        self._network.eval()
        for x, target in Loader(self._validation_dataset):
            y = self._network.forward(x)
            print(self._loss.calculate(y, target))
# --- silent
import torch
import lightning as L

def evaluate(path, loader, Net):
    model = Net.load_from_checkpoint(path)
    model.freeze()
    model.eval()
    for x, y in loader:
        print(model(x).argmax(1))
# --- silent
import lightning as L

class Lit(L.LightningModule):
    def validation_step(self, batch, batch_idx):
        for part in self.val_loader:
            print(self.model(part))
