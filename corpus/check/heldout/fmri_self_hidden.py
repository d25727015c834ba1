import torch
import torch.nn as nn


class FmriLSTM(nn.Module):
    def __init__(self, inp, hid):
        super().__init__()
        self.hid = hid
        self.lstm = nn.LSTM(inp, hid, batch_first=True)
        self.fc = nn.Linear(hid, 1)
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return torch.sigmoid(self.fc(out[:, -1]))


def train(model, loader, optimizer):
    bce = nn.BCELoss()
    model.train()
    for bold, label in loader:
        pred = model(bold.cuda()).squeeze(1)
        loss = bce(pred, label.cuda().float())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
