from .losses import dice_bce


def forward_loss(net, batch, device):
    img, mask = (t.to(device) for t in batch)
    return dice_bce(net(img), mask)


def validate(net, loader, device):
    net.eval()
    worst = []
    for batch in loader:
        loss = forward_loss(net, batch, device)
        worst.append(loss)
    return max(worst).item()
