import torch


def train(model, loader, opt, scaler, every=8):
    """Half precision training of the reranker."""
    pending = 0
    opt.zero_grad()
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(**batch.to("cuda")).loss / every
        scaler.scale(loss).backward()
        pending += 1
        if pending == every:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            pending = 0
    torch.save(model.state_dict(), "last.pt")
