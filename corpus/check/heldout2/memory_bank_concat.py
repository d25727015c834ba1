import torch


class Bank:
    """PatchCore: all patch features of the normal images."""

    def __init__(self, backbone):
        self.backbone = backbone.cuda().eval()
        self.features = None

    @torch.no_grad()
    def fit(self, loader):
        for images in loader:
            f = self.backbone(images.cuda()).flatten(2).transpose(1, 2).flatten(0, 1)
            if self.features is None:
                self.features = f
            else:
                self.features = torch.concat([self.features, f])
        return self.features.cpu()
