import torch
import torch.nn.functional as F


def free():
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def one_epoch(clip, loader, opt):
    clip.train()
    for images, tokens in loader:
        opt.zero_grad()
        img = F.normalize(clip.encode_image(images.cuda()), dim=-1)
        txt = F.normalize(clip.encode_text(tokens.cuda()), dim=-1)
        logits = clip.logit_scale.exp() * img @ txt.t()
        target = torch.arange(len(images), device=logits.device)
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        loss.backward()
        opt.step()
        del img, txt, logits
        free()
