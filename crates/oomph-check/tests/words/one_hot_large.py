import torch.nn.functional as F
from transformers import AutoTokenizer


class Words:
    def loss(self, logits, text):
        return (F.one_hot(text, self.tokenizer.vocab_size) * logits).sum()  # <-
# ---
import torch.nn.functional as F
from torch import nn
TOKENS = 32_000
class Smooth(nn.Module):
    def __init__(self, tokens=TOKENS, eps=0.1):
        super().__init__()
        self.tokens, self.eps = tokens, eps
    def forward(self, scores, target):
        hot = F.one_hot(target, self.tokens).float()  # <-
        return -(hot * scores.log_softmax(-1)).sum(-1).mean()
# ---
import torch.nn.functional as F
class Settings:
    entries = 50_000
def bag(ids, entries=Settings.entries):
    return F.one_hot(ids, num_classes=entries).sum(1)  # <-
# ---
import torch.nn.functional as F
CLASSES = 104
def dice(logits, labels):
    truth = F.one_hot(labels, CLASSES).permute(0, 4, 1, 2, 3)  # <-
    return (logits.softmax(1) * truth).sum()
def few(logits, labels, classes=4):
    truth = F.one_hot(labels, classes).permute(0, 4, 1, 2, 3)
    return (logits.softmax(1) * truth).sum()
# ---
import torch
import torch.nn.functional as F
def confusion(pred, true, n=171):
    a = F.one_hot(pred, n)  # <-
    b = F.one_hot(true, n)  # <-
    return torch.einsum("bhwi,bhwj->ij", a.float(), b.float())
def pairs(pred, true, n=171):
    a, b = F.one_hot(pred, n), F.one_hot(true, n)
    return torch.einsum("bi,bj->ij", a.float(), b.float())
# ---
import torch
LABELS = 80
def soft(logits, labels):
    g = torch.eye(LABELS, device=labels.device)[labels].permute(0, 3, 1, 2)  # <-
    return (logits.softmax(1) * g).mean()
def small(logits, labels):
    g = torch.eye(10, device=labels.device)[labels].permute(0, 3, 1, 2)
    return (logits.softmax(1) * g).mean()
# ---
import torch
import torch.nn.functional as F


def sample(model, batches):
    classes = 10000
    for labels in batches:
        hot = F.one_hot(torch.tensor(labels), num_classes=classes)  # <-
        print(model.sample(hot))
# ---
import torch, torch.nn.functional as F
N_ITEMS = 20000
class Rec(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.e = torch.nn.Embedding(n, 64)
        self.out = torch.nn.Linear(64, n)
    def forward(self, seq):
        return self.out(self.e(seq).mean(1))
def fit(model, loader, opt, n_items):
    for seq, nxt in loader:
        logits = model(seq.cuda())
        y = F.one_hot(nxt.cuda(), num_classes=n_items).float()  # <-
        loss = F.binary_cross_entropy_with_logits(logits, y)
        opt.zero_grad(), loss.backward(), opt.step()
def main(loader):
    m = Rec(N_ITEMS).cuda()
    fit(m, loader, torch.optim.Adam(m.parameters()), N_ITEMS)
main(None)
# ---
import torch, torch.nn.functional as F
class Trainer:
    def __init__(self, model, vocab):
        self.model = model.cuda()
        self.vocab = vocab
        self.opt = torch.optim.Adam(model.parameters())
    def step(self, x, y):
        logits = self.model(x)
        t = F.one_hot(y, self.vocab).to(logits.dtype)  # <-
        loss = -(t * logits.log_softmax(-1)).sum(-1).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
if __name__ == "__main__":
    from nets import LM
    t = Trainer(LM(50257), vocab=50257)
    for x, y in []:
        t.step(x.cuda(), y.cuda())
# ---
import torch
def smooth(target, n_classes, eps=0.1):
    hot = torch.full((target.size(0), n_classes), eps / n_classes, device=target.device)
    hot.scatter_(1, target.unsqueeze(1), 1 - eps)  # <-
    return hot
def train(model, loader, opt):
    for x, y in loader:
        loss = -(smooth(y.cuda(), 32000) * model(x.cuda()).log_softmax(-1)).sum(-1).mean()
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def run(model, loader, opt, vocab_size=50257):
    for ids in loader:
        ids = ids.cuda()
        target = torch.zeros(ids.shape[0], ids.shape[1], vocab_size, device="cuda")
        target.scatter_(2, ids.unsqueeze(-1), 1.0)  # <-
        loss = (model(ids) - target).pow(2).mean()
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import argparse, torch
from torch.nn import functional as F
p = argparse.ArgumentParser()
p.add_argument("--num-entities", type=int, default=40943)
args = p.parse_args()
def loss_fn(scores, tails):
    return F.binary_cross_entropy(scores.sigmoid(), F.one_hot(tails, args.num_entities).float())  # <-
# ---
import torch
def knn_votes(y, idx, w, classes=1000):
    oh = torch.nn.functional.one_hot(y[idx], classes).float()  # <-
    return (oh * w.unsqueeze(-1)).sum(1)
def main(feats, y, loader, model):
    with torch.no_grad():
        for x, t in loader:
            w, idx = (model(x.cuda()) @ feats.T).topk(200)
            print(knn_votes(y, idx, w).argmax(1).eq(t.cuda()).sum().item())
