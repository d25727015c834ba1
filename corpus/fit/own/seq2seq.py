"""An encoder and a decoder with padded targets, label smoothing, clipping and a schedule."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, Dataset

PAD, WORDS = 0, 32_000


class Pairs(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, at):
        source = torch.randint(1, WORDS, (60 + at % 60,))
        return source, torch.randint(1, WORDS, (60 + (7 * at) % 60,))


def padded(pairs):
    sources, targets = zip(*pairs)
    return nn.utils.rnn.pad_sequence(sources, batch_first=True), nn.utils.rnn.pad_sequence(targets, batch_first=True)


class Translator(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.words = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.places = nn.Parameter(torch.zeros(1, 128, width))
        self.body = nn.Transformer(width, 8, 6, 6, 2048, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def embedded(self, tokens):
        return self.words(tokens) + self.places[:, : tokens.shape[1]]

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        padding = (source == PAD).float().masked_fill(source == PAD, float("-inf"))
        return self.head(self.body(self.embedded(source), self.embedded(target), tgt_mask=mask, src_key_padding_mask=padding))


model = Translator().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 100, 1.0))
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
for epoch in range(2):
    total = 0.0
    for source, target in DataLoader(Pairs(), batch_size=48, shuffle=True, collate_fn=padded, drop_last=False):
        source, target = source.cuda(), target.cuda()
        logits = model(source, target[:, :-1])
        loss = criterion(logits.reshape(-1, WORDS), target[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
