import torch
import torch.nn.functional as F


class Clip(torch.nn.Module):
    def __init__(self, image, text):
        super().__init__()
        self.image, self.text = image, text
        self.logit_scale = torch.nn.Parameter(torch.tensor(2.659))

    def forward(self, img, txt):
        i = F.normalize(self.image(img), dim=-1)
        t = F.normalize(self.text(txt), dim=-1)
        return self.logit_scale.exp() * i @ t.T


def train(clip, loader, opt, device):
    scales, sims = [], []
    for img, txt in loader:
        logits = clip(img.to(device), txt.to(device))
        target = torch.arange(len(logits), device=device)
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        sims.append(logits.diagonal().mean())
        scales.append(clip.logit_scale.item())
    return scales, torch.stack(sims)
