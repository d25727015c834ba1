"""k-NN accuracy of frozen features, as every SSL paper reports it."""
import torch
import torch.nn.functional as F


@torch.no_grad()
def bank(model, loader):
    feats, labels = [], []
    for x, y in loader:
        feats.append(F.normalize(model(x.cuda()), dim=1).half().cpu())
        labels.append(y)
    return torch.cat(feats), torch.cat(labels)


@torch.no_grad()
def knn(model, train_loader, test_loader, k=200, T=0.07, classes=1000):
    model.cuda().eval()
    f, y = bank(model, train_loader)
    f, y = f.cuda(), y.cuda()
    hits = n = 0
    for x, t in test_loader:
        q = F.normalize(model(x.cuda()), dim=1).half()
        w, idx = (q @ f.T).topk(k)
        w = (w / T).exp()
        votes = torch.eye(classes, device="cuda")[y[idx]] * w.unsqueeze(-1)
        hits += (votes.sum(1).argmax(1).cpu() == t).sum().item()
        n += len(t)
    return hits / n
