# --- bad
import torch

def first_tokens(model, loader):
    kept = []
    with torch.no_grad():
        for x, _ in loader:
            hidden = model(x)
            kept.append(hidden[:, 0])
    return kept
# --- good
import torch

def first_tokens(model, loader):
    kept = []
    with torch.no_grad():
        for x, _ in loader:
            hidden = model(x)
            kept.append(hidden[:, 0].clone())
    return kept
# --- bad
import torch

keep = []
for x, _ in loader:
    big = model(x)
    keep.append(big[0].detach())
# --- good
import torch

keep = []
for x, _ in loader:
    big = model(x)
    keep.append(big[0].detach().clone())
# --- bad
import torch

def prototypes(encoder, loader):
    bank = {}
    with torch.no_grad():
        for images, labels in loader:
            features = encoder(images.cuda())
            for i, label in enumerate(labels.tolist()):
                if label not in bank:
                    bank[label] = features[i].detach()
    return bank
# --- good
import torch

def prototypes(encoder, loader):
    bank = {}
    with torch.no_grad():
        for images, labels in loader:
            features = encoder(images.cuda())
            for i, label in enumerate(labels.tolist()):
                if label not in bank:
                    bank[label] = features[i].detach().clone()
    return bank
# --- silent
import torch

def rows(model, loader):
    kept = []
    with torch.no_grad():
        for x, _ in loader:
            out = model(x)
            for i in range(len(x)):
                kept.append(out[i])
    return kept
# --- silent
import torch

losses = []
for x, y in loader:
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    losses.append(loss.data[0])
# --- silent
import torch

keep = []
with torch.no_grad():
    for x, mask in loader:
        out = model(x)
        keep.append(out[mask])
        keep.append(out[0].cpu())
        keep.append(out[:, 1:])
# --- silent
import torch

with torch.no_grad():
    for x, _ in loader:
        rows = []
        rows.append(model(x)[0])
        print(torch.stack(rows).mean())
