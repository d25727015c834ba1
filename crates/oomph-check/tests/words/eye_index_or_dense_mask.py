import torch
CLASSES = 150
def rows(mask):
    return torch.eye(CLASSES, device="cuda")[mask].permute(0, 3, 1, 2)  # <-
def label(y):
    return torch.eye(CLASSES, device="cuda")[y]
# ---
import torch
def embed(tokens, vocab=32000):
    return torch.eye(vocab, device=tokens.device).index_select(0, tokens)  # <-
# ---
import torch, numpy as np
VOCAB = 30522
def hot(ids):
    return torch.from_numpy(np.eye(VOCAB, dtype=np.float32)[ids])  # <-
# ---
import torch
class Enc(torch.nn.Module):
    def __init__(self, vocab_size=28996):
        super().__init__()
        self.eye = torch.eye(vocab_size)  # <-
        self.lin = torch.nn.Linear(vocab_size, 512)
    def forward(self, ids):
        return self.lin(self.eye.to(ids.device)[ids])
# ---
import torch
def votes(bank_y, idx, w, n=1000):
    table = torch.eye(n, device=idx.device)  # <-
    return (table[bank_y[idx]] * w[..., None]).sum(1)
def main(f, y, loader, model):
    with torch.no_grad():
        for x, t in loader:
            w, idx = (model(x.cuda()) @ f.T).topk(200)
            print(votes(y, idx, w).argmax(1).eq(t.cuda()).sum().item())
# ---
LENGTH = 7
WORDS = 4 ** LENGTH
class Codes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = WORDS
        self.embed = torch.nn.Linear(WORDS, 64)
    def forward(self, codes):
        return self.embed(torch.eye(self.words, device=codes.device)[codes])  # <-
