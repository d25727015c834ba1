import torch
import torch.nn as nn


class VideoClassifier(nn.Module):
    def __init__(self, feat=1024, hid=1024, classes=101):
        super().__init__()
        self.hid = hid
        self.lstm = nn.LSTM(feat, hid, batch_first=True)
        self.cls = nn.Linear(hid, classes)
        self.hidden = (torch.zeros(1, 1, hid).cuda(), torch.zeros(1, 1, hid).cuda())

    def forward(self, x):
        y, self.hidden = self.lstm(x, self.hidden)
        return self.cls(y[:, -1])


def train(model, loader, opt, crit):
    for clip, label in loader:
        opt.zero_grad()
        loss = crit(model(clip.cuda()), label.cuda())
        loss.backward(retain_graph=True)
        opt.step()
