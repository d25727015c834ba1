import argparse
import glob

import torch
from PIL import Image
from torch import nn
from torch.cuda.amp import custom_bwd, custom_fwd
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.functional import pil_to_tensor, resize


class Charb(torch.autograd.Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, d):
        r = torch.sqrt(d * d + 1e-6)
        ctx.save_for_backward(d)
        return r

    @staticmethod
    @custom_bwd
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        return g * d / torch.sqrt(d * d + 1e-6)


class Crops(Dataset):
    def __init__(self, root):
        self.files = glob.glob(root + "/*.png")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        hr = pil_to_tensor(Image.open(self.files[i]).convert("RGB"))[:, :192, :192].float() / 255
        return resize(hr, [96, 96], antialias=True), hr


def main(args):
    net = nn.Sequential(nn.Conv2d(3, 256, 3, padding=1), *[m for _ in range(16) for m in (nn.Conv2d(256, 256, 3, padding=1), nn.ReLU())],
                        nn.Conv2d(256, 12, 3, padding=1), nn.PixelShuffle(2)).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    dl = DataLoader(Crops(args.root), 8, shuffle=True, num_workers=4)
    for ep in range(args.epochs):
        pending = 0
        for lr, hr in dl:
            loss = Charb.apply(net(lr.cuda()) - hr.cuda()).mean() / args.every
            loss.backward()
            pending += 1
            if pending == args.every:
                opt.step()
                opt.zero_grad()
                pending = 0
        opt.zero_grad()
        torch.save(net.state_dict(), "edsr.pt")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("root")
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--every", type=int, default=8)
    main(ap.parse_args())
