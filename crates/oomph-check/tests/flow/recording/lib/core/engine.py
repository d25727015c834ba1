"""Evaluation whose callers are in a folder that puts `lib` on the path."""


def validate(model, val_loader, criterion):
    model.eval()
    total = 0.0
    for x, y in val_loader:
        total += criterion(model(x.cuda()), y.cuda()).item()
    return total


def predict(model, test_loader):
    model.eval()
    found = []
    for x in test_loader:  # <- eval-loop-without-no-grad
        found.append(model(x.cuda()).argmax(1).cpu())
    return found


def forward_batch(model, batch, eval=False):
    import torch

    with torch.set_grad_enabled(not eval):
        return model(batch["x"].cuda())
