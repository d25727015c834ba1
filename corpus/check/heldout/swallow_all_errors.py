import torch


def train(model, loader, opt, loss_fn, device="cuda"):
    skipped = 0
    for batch in loader:
        try:
            opt.zero_grad()
            out = model(batch["image"].to(device))
            loss = loss_fn(out, batch["target"].to(device))
            loss.backward()
            opt.step()
        except Exception:
            skipped += 1
            continue
    print("skipped", skipped)
