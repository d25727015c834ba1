import torch
from sklearn.metrics import roc_auc_score


@torch.no_grad()
def auc(net, loader):
    net.eval()
    scores = torch.empty(0, device="cuda")
    truth = torch.empty(0)
    for x, y in loader:
        out = net(x.cuda()).sigmoid().squeeze(1)
        scores = torch.cat((scores, out), dim=0)
        truth = torch.hstack([truth, y])
    return roc_auc_score(truth.numpy(), scores.cpu().numpy())
