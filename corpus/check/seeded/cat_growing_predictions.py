import torch


@torch.no_grad()
def predict(net, loader, device="cuda"):
    net.eval()
    all_logits = torch.empty(0, device=device)
    all_labels = torch.empty(0, dtype=torch.long)
    for x, y in loader:
        out = net(x.to(device))
        all_logits = torch.cat([all_logits, out], dim=0)
        all_labels = torch.cat((all_labels, y))
    return all_logits, all_labels
