import math
import torch
import torch.nn as nn
import torch.nn.functional as F

N_CLASSES = 81313


class ArcHead(nn.Module):
    def __init__(self, d=512, s=30.0, m=0.3):
        super().__init__()
        self.w = nn.Parameter(torch.empty(N_CLASSES, d))
        nn.init.xavier_uniform_(self.w)
        self.s, self.m = s, m

    def forward(self, emb, label):
        cos = F.linear(F.normalize(emb), F.normalize(self.w))
        phi = cos * math.cos(self.m) - (1 - cos.pow(2)).clamp(0, 1).sqrt() * math.sin(self.m)
        onehot = F.one_hot(label, N_CLASSES).float()
        return self.s * (onehot * phi + (1 - onehot) * cos)


def train(backbone, head, loader, epochs):
    params = list(backbone.parameters()) + list(head.parameters())
    opt = torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-4)
    conf_sum, steps = 0, 0
    for ep in range(epochs):
        for img, lab in loader:
            img, lab = img.cuda(non_blocking=True), lab.cuda(non_blocking=True)
            logits = head(backbone(img), lab)
            loss = F.cross_entropy(logits, lab)
            probs = logits.softmax(-1)
            conf_sum += probs.gather(1, lab[:, None]).mean()
            for p in params:
                if p.grad is not None:
                    p.grad.data.zero_()
            loss.backward()
            opt.step()
            steps += 1
        print(ep, loss.item(), (conf_sum / steps).item())
