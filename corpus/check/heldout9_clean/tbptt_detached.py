import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, v=128, h=512):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(v, 64), nn.LSTM(64, h, batch_first=True), nn.Linear(h, v)

    def forward(self, x, state):
        y, state = self.rnn(self.emb(x), state)
        return self.out(y), state


def cut(state):
    return None if state is None else tuple(s.detach() for s in state)


def main():
    ids = torch.tensor(list(open("novel.txt", "rb").read())).clamp(max=127)
    grid = ids[: len(ids) // 32 * 32].view(32, -1)
    net = LM().cuda()
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    state = None
    for s in range(0, grid.size(1) - 129, 128):
        x, y = grid[:, s:s + 128].cuda(), grid[:, s + 1:s + 129].cuda()
        logits, state = net(x, cut(state))
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 12800 == 0:
            print(s, loss.item())


if __name__ == "__main__":
    main()
