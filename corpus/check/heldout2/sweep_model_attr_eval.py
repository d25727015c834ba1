import torch


class Runner:
    def __init__(self, cfg, net, loaders):
        self.cfg = cfg
        self.net = net.cuda()
        self.loaders = loaders

    def logits(self, batch):
        return self.net(batch["img"].cuda())

    def miou(self):
        self.net.eval()
        inter = torch.zeros(19)
        union = torch.zeros(19)
        for batch in self.loaders["val"]:
            pred = self.logits(batch).argmax(1).cpu()
            for c in range(19):
                p, t = pred == c, batch["seg"] == c
                inter[c] += (p & t).sum()
                union[c] += (p | t).sum()
        self.net.train()
        return (inter / union).mean().item()
