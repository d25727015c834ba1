import sys

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter

from .config import load
from .data import endless, make_loader, sessions
from .evaluate import log_auc, mean_rank
from .metrics import RunningMean, Throughput
from .model import Ranker


def main(path):
    cfg = load(path)
    model = Ranker(cfg).to(cfg.device)
    opt = torch.optim.Adagrad(model.parameters(), lr=cfg.lr)
    if cfg.resume:
        model.load_state_dict(torch.load(cfg.resume))
    writer = SummaryWriter("runs/ranker")
    meter, speed = RunningMean("bce"), Throughput()
    batches = iter(endless(make_loader(cfg, "train")))
    for step in range(cfg.total_steps):
        history, offsets, item, label = (t.to(cfg.device, non_blocking=True) for t in next(batches))
        loss = F.binary_cross_entropy_with_logits(model(history, offsets, item), label.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss, len(label))
        speed.add(len(label))
        if step % 5000 == 4999:
            writer.add_scalar("train/bce", meter.mean, step)
            log_auc(model, cfg, step, writer)
            writer.add_scalar("valid/rank", mean_rank(model, cfg, sessions(cfg)), step)
            torch.save(model.state_dict(), f"ckpt/{step}.pt")


if __name__ == "__main__":
    main(sys.argv[1])
