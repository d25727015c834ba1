import torch
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader

from blood import BloodVessel3D, make_unet3d

ACC = 6
EPOCHS = 20

model = make_unet3d(base=32).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4)
scaler = GradScaler("cuda")
loader = DataLoader(BloodVessel3D("kidney_1_dense", size=192), batch_size=1, shuffle=True, num_workers=4)
loss_fn = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(4.0).cuda())
print(len(loader), "volumes per epoch")  # 250

for epoch in range(EPOCHS):
    model.train()
    optimizer.zero_grad()
    mean = 0.0
    for it, (vol, lab) in enumerate(loader):
        vol, lab = vol.cuda(), lab.cuda()
        with autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(vol), lab) / ACC
        scaler.scale(loss).backward()
        if (it + 1) % ACC == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        mean += loss.item() * ACC
    print(epoch, mean / len(loader))
    torch.save(model.state_dict(), f"unet3d_{epoch:02d}.pth")
