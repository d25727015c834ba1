import torch


def make_logger(store):
    def log(**values):
        for key, value in values.items():
            store.setdefault(key, []).append(value)

    return log


def train(model, loader, opt, crit):
    store = {}
    log = make_logger(store)
    for x, y in loader:
        out = model(x.cuda())
        loss = crit(out, y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        log(loss=loss, norm=out.norm())
    return {k: torch.stack(v).mean().item() for k, v in store.items()}
