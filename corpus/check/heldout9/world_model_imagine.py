import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Dynamics(nn.Module):
    """Recurrent latent dynamics. Keeps its own belief so the planner can call step() only."""

    def __init__(self, obs, act, hid=512):
        super().__init__()
        self.cell = nn.LSTMCell(obs + act, hid)
        self.dec = nn.Linear(hid, obs)
        self.belief = None

    def forward(self, obs, act):
        self.belief = self.cell(torch.cat([obs, act], -1), self.belief)
        return self.dec(self.belief[0])


def open_loop_error(model, episodes):
    """Mean one-step error over the held-out drives, belief carried through."""
    model.eval()
    err = []
    for obs, act, nxt in episodes:
        guess = model(obs.cuda(), act.cuda())
        err.append((guess - nxt.cuda()).abs().mean().item())
    return sum(err) / len(err)


if __name__ == "__main__":
    o, a, n = torch.load("drives.pt", map_location="cpu")
    m = Dynamics(o.shape[-1], a.shape[-1]).cuda()
    m.load_state_dict(torch.load("dynamics.pt", map_location="cpu"))
    print(open_loop_error(m, DataLoader(TensorDataset(o, a, n), batch_size=256, drop_last=True)))
