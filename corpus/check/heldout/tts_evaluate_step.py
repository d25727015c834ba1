import torch


def evaluate(model, criterion, epoch, loader, logger):
    model.eval()
    total = 0.0
    n = 0
    it = iter(loader)
    while True:
        try:
            txt, feat, spkr = next(it)
        except StopIteration:
            break
        out, attn = model([txt.cuda(), spkr.cuda()], feat.cuda())
        loss = criterion(out, feat.cuda())
        total += loss.item()
        n += 1
    logger.add_scalar("valid/loss", total / max(n, 1), epoch)
    return total / max(n, 1)
