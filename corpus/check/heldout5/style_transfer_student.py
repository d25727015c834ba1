"""Gatys style transfer. Usage: python style_transfer_student.py content.jpg style.jpg"""
import sys
import torch
import torch.nn.functional as F
from PIL import Image
from torchvision import models, transforms

dev = torch.device("cuda")
load = transforms.Compose([transforms.Resize(512), transforms.CenterCrop(512), transforms.ToTensor()])
content = load(Image.open(sys.argv[1]).convert("RGB"))[None].to(dev)
style = load(Image.open(sys.argv[2]).convert("RGB"))[None].to(dev)
vgg = models.vgg19(weights="DEFAULT").features.to(dev).eval()
PICK = {0: "s", 5: "s", 10: "s", 19: "s", 21: "c", 28: "s"}


def gram(f):
    b, c, h, w = f.shape
    m = f.view(c, h * w)
    return m @ m.t() / (c * h * w)


def feats(x):
    grams, cont = [], None
    for i, layer in enumerate(vgg):
        x = layer(x)
        if PICK.get(i) == "s":
            grams.append(gram(x))
        elif PICK.get(i) == "c":
            cont = x
    return grams, cont


with torch.no_grad():
    g_style, _ = feats(style)
    _, f_content = feats(content)

img = content.clone().requires_grad_(True)
opt = torch.optim.Adam([img], lr=0.02)
log = []
for it in range(2000):
    opt.zero_grad()
    g, c = feats(img)
    s_loss = sum(F.mse_loss(a, b) for a, b in zip(g, g_style))
    c_loss = F.mse_loss(c, f_content)
    loss = 1e6 * s_loss + c_loss
    loss.backward(retain_graph=True)
    opt.step()
    log.append((it, s_loss, c_loss))
    if it % 100 == 0:
        print(it, loss.item())
transforms.ToPILImage()(img.detach()[0].cpu().clamp(0, 1)).save("styled.png")
