import torch
import torch.nn.functional as F
from torch import nn

N_CLASSES = 118  # TotalSegmentator


def soft_dice(logits, labels, smooth=1e-5):
    """logits B,C,D,H,W and labels B,D,H,W."""
    p = logits.softmax(1)
    g = torch.eye(N_CLASSES, device=logits.device)[labels].permute(0, 4, 1, 2, 3)
    inter = (p * g).sum((2, 3, 4))
    denom = p.sum((2, 3, 4)) + g.sum((2, 3, 4))
    return 1 - ((2 * inter + smooth) / (denom + smooth)).mean()


class Objective(nn.Module):
    def __init__(self, w=0.5):
        super().__init__()
        self.w = w

    def forward(self, logits, labels):
        return self.w * F.cross_entropy(logits, labels) + (1 - self.w) * soft_dice(logits, labels)


def confusion(logits, labels):
    pred = F.one_hot(logits.argmax(1), num_classes=N_CLASSES)
    true = F.one_hot(labels, num_classes=N_CLASSES)
    return torch.einsum("bdhwp,bdhwt->pt", pred.float(), true.float())


def fit(net, train_loader, val_loader, epochs, device="cuda"):
    net.to(device)
    crit = Objective()
    opt = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.99, nesterov=True)
    for epoch in range(epochs):
        net.train()
        for vol, seg in train_loader:
            loss = crit(net(vol.to(device)), seg.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        cm = torch.zeros(N_CLASSES, N_CLASSES)
        with torch.no_grad():
            for vol, seg in val_loader:
                cm += confusion(net(vol.to(device)), seg.to(device)).cpu()
        print(epoch, (cm.diag().sum() / cm.sum()).item())
