import torch
import torch.nn as nn

K = 6
VOCAB = 4 ** K  # 4096 k-mers


class KmerCNN(nn.Module):
    def __init__(self, d=256, n_out=919):
        super().__init__()
        self.vocab = VOCAB
        self.embed = nn.Linear(VOCAB, d, bias=False)
        self.body = nn.Sequential(
            nn.Conv1d(d, 256, 9, padding=4), nn.ReLU(), nn.MaxPool1d(4),
            nn.Conv1d(256, 512, 9, padding=4), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
        )
        self.out = nn.Linear(512, n_out)

    def forward(self, kmers):
        # kmers: (B, 1000) int64
        x = torch.eye(self.vocab, device=kmers.device)[kmers]
        x = self.embed(x).transpose(1, 2)
        return self.out(self.body(x))


def train(model, loader, epochs=10):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for kmers, target in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(kmers.cuda()), target.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
