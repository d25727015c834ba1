"""Re-identification: cumulative match curve on Market-1501."""
import torch
import torch.nn.functional as F
from tqdm import tqdm


def extract(model, loader):
    model.eval()
    bank, pids, cams = None, [], []
    for img, pid, cam in tqdm(loader):
        f = model(img.cuda()) + model(img.cuda().flip(-1))
        f = F.normalize(f, dim=1)
        bank = f if bank is None else torch.cat([bank, f])
        pids.append(pid)
        cams.append(cam)
    return bank, torch.cat(pids), torch.cat(cams)


def cmc(qf, qp, qc, gf, gp, gc, top=10):
    dist = ((qf[:, None, :] - gf[None, :, :]) ** 2).sum(-1)
    order = dist.argsort(1).cpu()
    hits = torch.zeros(top)
    valid = 0
    for i in range(len(qp)):
        junk = (gp[order[i]] == qp[i]) & (gc[order[i]] == qc[i])
        match = (gp[order[i]] == qp[i])[~junk]
        if not match.any():
            continue
        first = match.nonzero()[0].item()
        if first < top:
            hits[first:] += 1
        valid += 1
    return hits / valid


def evaluate(model, query_loader, gallery_loader):
    q = extract(model, query_loader)
    g = extract(model, gallery_loader)
    curve = cmc(q[0], q[1], q[2], g[0], g[1], g[2])
    print(f"rank-1 {curve[0]:.3f} rank-5 {curve[4]:.3f}")
    return curve
