import torch
def collect(net, loader):
    all_feats = torch.empty(0, 512).cuda()
    net.eval()
    with torch.inference_mode():
        for img, _ in loader:
            all_feats = torch.concat((all_feats, net(img.cuda())), dim=0)  # <-
    return all_feats
# ---
import torch
class Evaluator:
    def run(self, loader):
        self.preds = torch.tensor([]).cuda()
        self.labels = torch.tensor([]).cuda()
        with torch.no_grad():
            for x, y in loader:
                self.preds = torch.cat([self.preds, self.model(x.cuda())])  # <-
                self.labels = torch.cat([self.labels, y.cuda()])  # <-
# ---
import torch
def gather(model, ds, bs):
    out = None
    i = 0
    with torch.no_grad():
        for b in range(0, len(ds), bs):
            z = model(torch.stack([ds[j] for j in range(b, b + bs)]).cuda())
            out = z if out is None else torch.cat((out, z))  # <-
    return out
# ---
import torch
@torch.no_grad()
def features(model, loader):
    bank = []
    for x, y in loader:
        f = model(x.cuda())
        if len(bank) == 0:
            bank = f
        else:
            bank = torch.vstack([bank, f])  # <-
    return bank
# ---
import torch
def run(model, loader):
    preds = torch.zeros(0).cuda()
    model.eval()
    it = iter(loader)
    with torch.no_grad():
        while True:
            batch = next(it, None)
            if batch is None:
                break
            preds = torch.cat([preds, model(batch.cuda())])  # <-
    return preds
# ---
import torch
def update(policy, opt, data):
    loss = policy(data).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
def main(policy, opt, collect, iters):
    rewards = torch.zeros(0, device="cuda")
    for it in range(iters):
        data = collect(policy)
        update(policy, opt, data)
        rewards = torch.cat([rewards, data.flatten()])  # <-
    torch.save(rewards.cpu(), "rewards.pt")
# ---
import torch
@torch.no_grad()
def predict(model, loader):
    preds = torch.tensor([], device="cuda")
    for x in loader:
        preds = torch.cat([preds, model(x.cuda())])  # <-
    return preds
# ---
import torch
@torch.no_grad()
def film(G, keys, per):
    G = G.cuda().eval()
    reel = None
    for a, b in zip(keys, keys[1:]):
        for t in torch.linspace(0, 1, per):
            img = G(torch.lerp(a, b, t).cuda()[None])
            if reel is None:
                reel = img
            else:
                reel = torch.cat((reel, img), 0)  # <-
    return reel
# ---
import torch
@torch.no_grad()
def encode(model, files, read):
    model = model.cuda().eval()
    bank = torch.empty(0, 512, device="cuda")
    for f in files:
        v = model(read(f).cuda())
        bank = torch.cat((bank, v))  # <-
    return bank
# ---
import torch
class Bank:
    def __init__(self):
        self.feats = None
    def add(self, f):
        self.feats = f if self.feats is None else torch.cat([self.feats, f])  # <-
@torch.no_grad()
def build(model, loader):
    bank = Bank()
    for x, _ in loader:
        bank.add(model(x.cuda()))
    return bank
# ---
import torch, numpy as np
@torch.no_grad()
def feats(model, loader):
    allf = torch.zeros(0, 128).cuda()
    lab = torch.zeros(0).cuda()
    for x, y in loader:
        f = model(x.cuda())
        allf = torch.vstack((allf, f))  # <-
        lab = torch.hstack((lab, y.cuda()))  # <-
    return allf, lab
