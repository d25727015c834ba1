"""Streaming acoustic model: the decoder state goes on from chunk to chunk of one audiobook."""
import torch
from torch import nn


class ChunkDecoder(nn.Module):
    def __init__(self, n_mel=80, h=1024):
        super().__init__()
        self.pre = nn.Sequential(nn.Linear(n_mel, 256), nn.ReLU(), nn.Dropout(0.5))
        self.rnn = nn.LSTM(256, h, num_layers=2, batch_first=True)
        self.mel = nn.Linear(h, n_mel)

    def forward(self, mel, state=None):
        y, state = self.rnn(self.pre(mel), state)
        return self.mel(y), state


def train_book(net, chunks, epochs=10):
    net = net.cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(epochs):
        state = None
        for mel in chunks:
            mel = mel.cuda()
            pred, state = net(mel[:, :-1], state)
            loss = nn.functional.l1_loss(pred, mel[:, 1:])
            opt.zero_grad()
            loss.backward(retain_graph=True)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        print(epoch, loss.item())
