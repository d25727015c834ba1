import torch
import torch.nn as nn


def fit(model, loader, epochs=3):
    opt = torch.optim.AdamW(model.parameters())
    crit = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for x, y in loader:
            torch.autocast("cuda", dtype=torch.bfloat16)
            loss = crit(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
