import logging

import torch

logger = logging.getLogger(__name__)


def run_epoch(model, loader, opt, loss_fn, device):
    """Some scans are far larger than others. Never let one of them stop the night run."""
    model.train()
    done = 0
    for scan in loader:
        try:
            x, y = scan["image"].to(device), scan["mask"].to(device)
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            done += 1
        except Exception as e:
            logger.warning("scan %s skipped: %s", scan["id"], e)
            continue
    return done


def night_run(model, loader, loss_fn, epochs=40, device="cuda"):
    opt = torch.optim.AdamW(model.parameters(), 2e-4)
    for ep in range(epochs):
        n = run_epoch(model, loader, opt, loss_fn, device)
        logger.info("epoch %d: %d scans", ep, n)
        torch.save(model.state_dict(), f"night_{ep}.pt")
