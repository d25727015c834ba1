# report reconstruction error per class after training, for the plots in the report
import collections
import torch
import torch.nn as nn

from ae_model import ConvAE
from data import val_loader

model = ConvAE(latent=256)
state = torch.load("ae_best.pth")
model.load_state_dict(state)
model = model.cuda()
model.eval()  # eval saves the memory of the gradients

mse = nn.MSELoss(reduction="none")
per_class = collections.defaultdict(list)
latents = []

for images, targets in val_loader:
    images = images.cuda()
    code = model.encode(images)
    recon = model.decode(code)
    err = mse(recon, images).flatten(1).mean(dim=1)
    for e, t in zip(err, targets):
        per_class[int(t)].append(e)
    latents.append(code)

for cls in sorted(per_class):
    values = torch.stack(per_class[cls])
    print(f"class {cls}: {values.mean().item():.5f} +- {values.std().item():.5f}")

all_codes = torch.cat(latents)
torch.save(all_codes.cpu(), "codes.pt")
