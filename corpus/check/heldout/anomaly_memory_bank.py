import torch


class PatchBank:
    def __init__(self, extractor):
        self.extractor = extractor.eval().cuda()
        self.bank = None

    @torch.inference_mode()
    def fit(self, loader):
        for images in loader:
            f = self.extractor(images.cuda())
            f = f.flatten(2).transpose(1, 2).reshape(-1, f.size(1))
            self.bank = f if self.bank is None else torch.cat((self.bank, f))

    @torch.inference_mode()
    def score(self, image):
        f = self.extractor(image.cuda()).flatten(2).transpose(1, 2)[0]
        return torch.cdist(f, self.bank).min(1).values.max().item()
