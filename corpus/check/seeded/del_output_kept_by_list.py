import torch


def extract(backbone, loader):
    bank = []
    with torch.inference_mode():
        for x, _ in loader:
            x = x.to("cuda")
            feat = backbone(x)
            pooled = feat.mean((2, 3))
            alias = feat
            bank.append(pooled.cpu())
            del feat
            torch.cuda.synchronize()
            yield alias.shape
    torch.save(torch.cat(bank), "bank.pt")
