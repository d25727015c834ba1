import torch
from torchmetrics import AUROC
from torchmetrics.classification import BinaryPrecisionRecallCurve


class Eval:
    def __init__(self):
        self.auroc = AUROC(task="binary").cuda()
        self.curve = BinaryPrecisionRecallCurve().to("cuda")

    @torch.no_grad()
    def run(self, net, loader):
        for x, y in loader:
            p = net(x.cuda()).squeeze(1).sigmoid()
            self.auroc.update(p, y.cuda())
            self.curve.update(p, y.cuda())
        return self.auroc.compute().item()
