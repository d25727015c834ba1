import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from teleop import TeleopChunks  # consecutive 32-step chunks of each demo, in order

HID = 512


class RecurrentBC(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.inp = nn.Linear(obs_dim, HID)
        self.rnn = nn.LSTM(HID, HID, num_layers=2, batch_first=True)
        self.out = nn.Linear(HID, act_dim)

    def forward(self, obs, state=None):
        z, state = self.rnn(torch.relu(self.inp(obs)), state)
        return self.out(z), state


device = "cuda:0"
model = RecurrentBC(46, 8).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()
demos = [TeleopChunks("demos.h5", demo=d) for d in range(180)]

for epoch in range(30):
    for demo in demos:
        loader = DataLoader(demo, batch_size=16, shuffle=False, drop_last=True)
        state = None
        optimizer.zero_grad()
        for i, (obs, act) in enumerate(loader):
            obs, act = obs.to(device), act.to(device)
            pred, state = model(obs, state)
            loss = mse(pred, act) / len(loader)
            # without retain_graph: "Trying to backward through the graph a second time"
            loss.backward(retain_graph=True)
        # one update per demonstration
        optimizer.step()
        print(epoch, loss.item(), torch.cuda.max_memory_allocated() >> 20, "MiB")
