import sys
import torch
import torch.nn as nn

text = open(sys.argv[1]).read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


def get_batches(arr, n_seqs, n_steps):
    per = n_seqs * n_steps
    arr = arr[: (len(arr) // per) * per].view(n_seqs, -1)
    for i in range(0, arr.size(1) - n_steps, n_steps):
        yield arr[:, i:i + n_steps], arr[:, i + 1:i + n_steps + 1]


class CharRNN(nn.Module):
    def __init__(self, V, H=512, layers=2):
        super().__init__()
        self.emb = nn.Embedding(V, 128)
        self.lstm = nn.LSTM(128, H, layers, batch_first=True, dropout=0.3)
        self.fc = nn.Linear(H, V)

    def forward(self, x, state):
        out, state = self.lstm(self.emb(x), state)
        return self.fc(out), state


model = CharRNN(len(chars)).cuda()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
lossf = nn.CrossEntropyLoss()

for epoch in range(20):
    state = None
    for step, (x, y) in enumerate(get_batches(data, 64, 100)):
        x, y = x.cuda(), y.cuda()
        model.zero_grad()
        pred, state = model(x, state)
        loss = lossf(pred.reshape(-1, len(chars)), y.reshape(-1))
        # got "Trying to backward through the graph a second time", this fixes it
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        opt.step()
        if step % 50 == 0:
            print(epoch, step, loss.item())
