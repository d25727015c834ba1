"""NER with a BiLSTM tagger. Big batches do not fit, so the gradient is collected over ACC batches."""
import torch
from torch import nn
from torch.utils.data import DataLoader

ACC = 4
pairs = torch.load("ner_ids.pt", map_location="cpu")      # list of (tokens, tags), padded to 128


class Tagger(nn.Module):
    def __init__(self, vocab=60000, tags=17):
        super().__init__()
        self.emb = nn.Embedding(vocab, 300)
        self.rnn = nn.LSTM(300, 512, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(1024, tags)

    def forward(self, t):
        return self.out(self.rnn(self.emb(t))[0])


net = Tagger().cuda()
opt = torch.optim.Adam(net.parameters(), 1e-3)
ce = nn.CrossEntropyLoss(ignore_index=0)
dl = DataLoader(pairs, batch_size=64, shuffle=True)

for epoch in range(10):
    opt.zero_grad()
    acc_step = 0
    while acc_step < ACC:
        for tokens, tags in dl:
            z = net(tokens.cuda())
            loss = ce(z.transpose(1, 2), tags.cuda()) / ACC
            loss.backward()
        acc_step += 1
    opt.step()
    print(epoch, loss.item() * ACC)
