import torch
from torch import nn
from torchvision import datasets, transforms

torch.autograd.set_detect_anomaly(True)

enc = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU())
dec = nn.Sequential(nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 1, 4, 2, 1))
enc.to("cuda")
dec.to("cuda")
mse = nn.MSELoss()
adam = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
ds = datasets.MNIST(".", train=True, download=True, transform=transforms.ToTensor())
dl = torch.utils.data.DataLoader(ds, 256, shuffle=True)

for epoch in range(40):
    epoch_loss = 0.0
    for clean, _ in dl:
        clean = clean.to("cuda")
        dirty = clean + 0.3 * torch.randn_like(clean)
        rec = dec(enc(dirty))
        loss = mse(rec, clean)
        adam.zero_grad()
        loss.backward()
        adam.step()
        epoch_loss += loss * len(clean)
        torch.cuda.empty_cache()
    print("epoch", epoch, "loss", epoch_loss / len(ds))
    print("reserved MB:", torch.cuda.memory_reserved() / 2**20)
