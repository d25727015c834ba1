import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from teleop import TeleopChunks


def repackage(state):
    if state is None:
        return None
    return tuple(s.detach() for s in state)


class RecurrentBC(nn.Module):
    def __init__(self, obs, act, hid=512):
        super().__init__()
        self.rnn = nn.LSTM(obs, hid, 2, batch_first=True)
        self.out = nn.Linear(hid, act)

    def forward(self, x, state):
        z, state = self.rnn(x, state)
        return self.out(z), state


model = RecurrentBC(46, 8).to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TeleopChunks("demos.h5"), batch_size=16, shuffle=False, drop_last=True)
for epoch in range(30):
    state = None
    for obs, act in loader:
        state = repackage(state)
        pred, state = model(obs.to("cuda"), state)
        loss = nn.functional.mse_loss(pred, act.to("cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
