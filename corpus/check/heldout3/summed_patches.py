"""Super-resolution: the loss of an image is the mean over its patches."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from sr import DIV2K, RCAN


def patches(img, size, stride):
    _, _, h, w = img.shape
    for top in range(0, h - size + 1, stride):
        for left in range(0, w - size + 1, stride):
            yield top, left


def image_loss(net, lr, hr, size=48, scale=4):
    total, n = 0, 0
    for top, left in patches(lr, size, size):
        pred = net(lr[..., top:top + size, left:left + size])
        ref = hr[..., top * scale:(top + size) * scale, left * scale:(left + size) * scale]
        total = total + F.l1_loss(pred, ref)
        n += 1
    return total / n


def main(epochs=300):
    net = RCAN(scale=4).cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    loader = DataLoader(DIV2K("/data/div2k"), batch_size=1, shuffle=True, num_workers=4)
    for epoch in range(epochs):
        for lr, hr in loader:
            loss = image_loss(net, lr.cuda(), hr.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
        torch.save(net.state_dict(), f"rcan_{epoch:03d}.pt")


if __name__ == "__main__":
    main()
