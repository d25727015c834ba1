import torch


class FeatureBank:
    def __init__(self, dim, device):
        self.feats = torch.zeros(0, dim, device=device)

    def build(self, encoder, loader):
        with torch.inference_mode():
            for imgs in loader:
                z = torch.nn.functional.normalize(encoder(imgs.cuda()), dim=1)
                self.feats = torch.cat([self.feats, z])
        return self.feats
