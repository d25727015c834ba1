import torch


def train(model, loader, opt, log):
    for i, batch in enumerate(loader):
        try:
            opt.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            opt.step()
        except Exception as e:
            log.warning("skipping batch %d: %s", i, e)
            continue
