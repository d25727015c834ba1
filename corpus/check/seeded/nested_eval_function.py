import torch
from torch import nn


def main(model, train_dl, test_dl, epochs, device):
    crit = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), 3e-4)

    def test():
        model.eval()
        preds, gts = [], []
        for x, y in test_dl:
            out = model(x.to(device))
            preds.append(out)
            gts.append(y)
        p, g = torch.cat(preds).sigmoid().cpu(), torch.cat(gts)
        return ((p > 0.5).float() == g).float().mean().item()

    for ep in range(epochs):
        model.train()
        for x, y in train_dl:
            loss = crit(model(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(ep, test())
