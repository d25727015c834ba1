import torch


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.train()


class McDropout:
    def __init__(self, model, passes=30):
        self.model = model.cuda().eval()
        enable_dropout(self.model)
        self.passes = passes
        self.samples = {}

    def collect(self, loader):
        for key, x in loader:
            x = x.cuda()
            self.samples[key[0]] = torch.stack([self.model(x) for _ in range(self.passes)])
        return self

    def variance(self):
        return {k: v.softmax(-1).var(0).sum().item() for k, v in self.samples.items()}
