import torch
from sklearn.metrics import roc_auc_score

from .data import make_loader


def auc(model, cfg):
    model.eval()
    ys, ps = [], []
    for history, offsets, item, label in make_loader(cfg, "valid"):
        logit = model(history.to(cfg.device), offsets.to(cfg.device), item.to(cfg.device))
        ps.extend(logit.sigmoid().tolist())
        ys.extend(label.tolist())
    model.train()
    return roc_auc_score(ys, ps)


def log_auc(model, cfg, step, writer):
    value = auc(model, cfg)
    writer.add_scalar("valid/auc", value, step)
    return value


@torch.no_grad()
def mean_rank(model, cfg, sessions):
    """Mean rank of the clicked item over all candidate lists of the sessions."""
    model.eval()
    total, n = 0, 0
    for user_id, history, candidates, clicked in sessions:
        scores = model.rank(user_id, history.to(cfg.device), candidates.to(cfg.device))
        total += int((scores > scores[clicked]).sum())
        n += 1
    model.train()
    return total / max(n, 1)
