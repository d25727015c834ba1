"""Small DDPM on 128px birds."""
import torch
import torchvision
from diffusers import DDPMScheduler, UNet2DModel
from torch.utils.data import DataLoader
from torch.utils.checkpoint import checkpoint
from torchvision import transforms as T


def birds():
    tf = T.Compose([T.Resize(128), T.CenterCrop(128), T.ToTensor(), T.Normalize([0.5], [0.5])])
    return DataLoader(torchvision.datasets.ImageFolder("birds", tf), 32, shuffle=True, num_workers=4)


def main():
    unet = UNet2DModel(128, 3, 3, block_out_channels=(128, 256, 256, 512)).cuda()
    noise = DDPMScheduler(1000)
    opt = torch.optim.AdamW(unet.parameters(), 1e-4)

    def whole(x, t):
        return unet(x, t).sample

    for ep in range(100):
        for img, _ in birds():
            img = img.cuda()
            eps = torch.randn_like(img)
            t = torch.randint(0, 1000, (len(img),), device="cuda")
            pred = checkpoint(whole, noise.add_noise(img, eps, t), t, use_reentrant=False)
            loss = torch.nn.functional.mse_loss(pred, eps)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, loss.item())


if __name__ == "__main__":
    main()
