import torch
from sklearn.metrics import roc_auc_score


@torch.no_grad()
def auc(net, loader):
    net.eval()
    scores, labels = [], []
    for x, y in loader:
        scores.append(net(x.cuda()).sigmoid())
        labels.append(y)
    return roc_auc_score(torch.cat(labels).numpy(), torch.cat(scores).cpu().numpy())
