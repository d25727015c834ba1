# --- bad
import torch
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64)
batches = list(loader)
# --- good
import torch
from itertools import islice
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64)
batches = list(islice(loader, 4))
# --- bad
import torch

def preload(train_loader, device):
    return [(x.to(device), y.to(device)) for x, y in train_loader]
# --- good
import torch

def preload(train_loader, device):
    for x, y in train_loader:
        yield x.to(device), y.to(device)
# --- silent
import torch

def fit(train_loader, device):
    for i, data in enumerate(shown(train_loader)):
        noisy, clean = [x.to(device) for x in data]
# --- silent
import torch

class Predictor:
    def loop(self, model, eval_loader):
        truth = []
        for batch in eval_loader:
            self(batch, model, truth)
        return truth

    def __call__(self, sample, model, truth):
        model(sample)
        truth.append(sample['target'].cpu())
# --- silent
import torch
from torch.utils.data import DataLoader

loader = DataLoader(headers, batch_size=1, collate_fn=lambda items: items)
metadata = []
for header in loader:
    metadata.append(header)
# --- silent
import torch

def collect(model, data_loader):
    probabilities = []
    for batch in data_loader:
        probabilities.append(batch)
    return torch.cat(probabilities, dim=0)
# --- silent
import torch

labels = [y for _, y in train_loader]
sizes = [len(batch) for batch in train_loader]
# --- silent
import torch

for batch in train_loader:
    images, targets = list(batch)
    batch = tuple(part.cuda() for part in batch)
# --- silent
import torch

few = [next(iter(train_loader)) for _ in range(4)]
loaders = list(train_loaders)
# --- silent
import torch

first = [batch for index, batch in zip(range(10), train_loader)]
