"""Speech to text in outline: convolutions over a spectrogram, a transformer, and CTC over lengths that differ."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Utterances(Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, at):
        return torch.randn(800 + 10 * (at % 40), 80), torch.randint(1, 60, (40 + at % 20,))


def collated(items):
    sounds, texts = zip(*items)
    lengths = torch.tensor([len(sound) // 4 for sound in sounds])
    return nn.utils.rnn.pad_sequence(sounds, batch_first=True), nn.utils.rnn.pad_sequence(texts, batch_first=True), lengths, torch.tensor([len(text) for text in texts])


class Recognizer(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.shorten = nn.Sequential(nn.Conv1d(80, width, 5, stride=2, padding=2), nn.GELU(), nn.Conv1d(width, width, 5, stride=2, padding=2), nn.GELU())
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(width, 6, 4 * width, batch_first=True, activation="gelu") for _ in range(8)])
        self.head = nn.Linear(width, 60)

    def forward(self, sounds):
        x = self.shorten(sounds.transpose(1, 2)).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(x).log_softmax(-1)


model = Recognizer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
criterion = nn.CTCLoss(zero_infinity=True)
step = 0
for sounds, texts, lengths, text_lengths in DataLoader(Utterances(), batch_size=32, collate_fn=collated):
    step += 1
    odds = model(sounds.cuda()).transpose(0, 1)
    loss = criterion(odds, texts.cuda(), lengths, text_lengths)
    loss.backward()
    if step % 2 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
