"""Variable-size batches (token budget), so count samples instead of steps."""
import logging

import torch

log = logging.getLogger(__name__)


def run_epoch(net, batches, opt, sched, want=256, device=torch.device("cuda")):
    pending = 0
    updates = 0
    opt.zero_grad()
    for src, tgt in batches:
        src, tgt = src.to(device), tgt.to(device)
        loss = net(src, tgt)
        (loss * src.size(0) / want).backward()
        pending += src.size(0)
        if pending >= want:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            pending = 0
            updates += 1
    log.info("%d updates", updates)
    return updates


def train(net, make_batches, epochs):
    opt = torch.optim.Adam(net.parameters(), 1e-3, betas=(0.9, 0.98))
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 50000)
    for ep in range(epochs):
        run_epoch(net, make_batches(ep), opt, sched)
        torch.save(net.state_dict(), f"e{ep}.pt")
