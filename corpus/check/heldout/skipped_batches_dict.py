import torch

FAILED = {}


def train(model, loader, opt, crit):
    for i, (x, y) in enumerate(loader):
        try:
            opt.zero_grad()
            loss = crit(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        except RuntimeError as e:
            FAILED[i] = e
            if "out of memory" in str(e):
                torch.cuda.empty_cache()
                continue
            raise
    print(f"{len(FAILED)} batches were skipped")
