import torch
import torch.nn as nn


class Probe(nn.Module):
    def __init__(self, vit):
        super().__init__()
        self.vit = vit

    def forward(self, x):
        tokens = self.vit.patch_embed(x)
        for blk in self.vit.blocks:
            tokens = blk(tokens)
        return tokens


def collect_tokens(vit, loader, limit=50):
    probe = Probe(vit).cuda().eval()
    kept = ()
    for i, (img, _) in enumerate(loader):
        if i == limit:
            break
        tok = probe(img.cuda())
        kept = kept + (tok[:, 0],)
    return torch.cat(kept)
