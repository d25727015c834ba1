import torch
from torch import nn, optim
from torch.utils.data import DataLoader


def fit(model, train_ds, val_ds, epochs=50):
    ce, mse = nn.CrossEntropyLoss(), nn.MSELoss()
    opt = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        running_loss = running_ce = 0
        model.train()
        for x, cls, reg in DataLoader(train_ds, 16, shuffle=True):
            opt.zero_grad()
            c, r = model(x.cuda())
            l1, l2 = ce(c, cls.cuda()), mse(r, reg.cuda())
            loss = l1 + 0.5 * l2
            loss.backward()
            opt.step()
            running_loss += loss
            running_ce += l1.item()

        val_loss = 0
        model.eval()
        for x, cls, reg in DataLoader(val_ds, 16):
            c, r = model(x.cuda())
            val_loss = val_loss + ce(c, cls.cuda()) + 0.5 * mse(r, reg.cuda())
        print(epoch, float(running_loss), float(val_loss))
