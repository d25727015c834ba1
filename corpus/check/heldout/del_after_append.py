import torch


@torch.no_grad()
def extract(backbone, loader, device="cuda"):
    backbone.eval().to(device)
    bank = []
    ids = []
    for names, images in loader:
        feat = backbone(images.to(device))
        bank.append(feat)
        ids.extend(names)
        del feat
    return ids, torch.cat(bank)
