import torch
def train(model, loader, epochs):
    for e in range(epochs):
        for x, y in loader:
            opt = torch.optim.Adam(model.parameters(), 1e-3)  # <-
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def step(model, x, y):
    opt = torch.optim.AdamW(model.parameters(), 1e-3)  # <-
    loss = model(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
def train(model, loader):
    for x, y in loader:
        step(model, x.cuda(), y.cuda())
