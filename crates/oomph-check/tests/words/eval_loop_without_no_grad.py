import torch
def test(model, loader):
    model.train(False)
    hits = 0
    for x, y in loader:  # <-
        hits += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return hits
# ---
import torch
class Tester:
    def __init__(self, net):
        self.net = net
        self.net.eval()
    def _forward(self, x):
        return self.net(x.cuda())
    def accuracy(self, loader):
        n = 0
        for x, y in loader:  # <-
            n += (self._forward(x).argmax(1).cpu() == y).sum().item()
        return n
# ---
import torch
def main(args):
    net = build_net(args)
    net.load_state_dict(torch.load(args.ckpt, map_location="cpu"))
    net = net.cuda()
    net.eval()
    for i, sample in enumerate(test_loader):  # <-
        img = sample["image"].cuda()
        prob = torch.sigmoid(net(img))
        save(prob.detach().cpu().numpy(), i)
# ---
import torch
def get_embeddings(model, texts, tokenizer, bs=64):
    model.eval()
    out = []
    for i in range(0, len(texts), bs):  # <-
        enc = tokenizer(texts[i:i+bs], return_tensors="pt", padding=True).to("cuda")
        h = model(**enc).last_hidden_state[:, 0]
        out.extend(h.detach().cpu().tolist())
    return out
# ---
import torch
def run_epoch(model, loader, crit, opt=None):
    train = opt is not None
    model.train() if train else model.eval()
    tot = 0
    for x, y in loader:
        loss = crit(model(x.cuda()), y.cuda())  # <-
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        tot += loss.item()
    return tot
# ---
import torch
def outputs(net, loader):
    net.eval()
    res = []
    add = res.append
    for x, _ in loader:  # <-
        add(net(x.cuda()))
    return res
# ---
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
    def evaluate(self, loader):
        self.eval()
        n = 0
        for x, y in loader:  # <-
            n += (self(x).argmax(1) == y).sum().item()
        return n
# ---
import torch
def compute_accuracy(net, loader, device):
    net.eval()
    with torch.autocast("cuda"):
        return sum((net(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in loader)  # <-
# ---
import torch
def main():
    model = get_model().cuda()
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        model.eval()
        correct = 0
        for x, y in val_loader:  # <-
            correct += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
        print(correct)
# ---
import torch
from tqdm.auto import tqdm
def infer(model, dataloader):
    model.eval()
    preds = []
    for batch in tqdm(dataloader, desc="infer"):  # <-
        batch = {k: v.to("cuda") for k, v in batch.items()}
        logits = model(**batch).logits
        preds += logits.argmax(-1).cpu().tolist()
    return preds
# ---
import torch
from torch.autograd import Variable
def test(model, loader, criterion):
    model.eval()
    total = 0
    for x, y in loader:  # <-
        x, y = Variable(x.cuda()), Variable(y.cuda())
        total += criterion(model(x), y).item()
    return total
# ---
import torch
class Model:
    def __init__(self, net):
        self.net = net
    def run(self, x):
        self.out = self.net(x)
    def validate(self, loader):
        self.net.eval()
        for x, y in loader:  # <-
            self.run(x.cuda())
            print(self.out.argmax(1).cpu())
# ---
import torch
def run(net, loader, opt, mode):
    for x, y in loader:
        loss = (net(x.cuda()) - y.cuda()).pow(2).mean()  # <-
        if mode == "train":
            loss.backward()
            opt.step()
            opt.zero_grad()
        print(loss.item())
# ---
import torch
from torchcam.methods import SmoothGradCAMpp
def test(net, loader):
    net.eval()
    for x, _ in loader:  # <-
        print(net(x.cuda()).argmax(1))
def explain(net, x):
    return SmoothGradCAMpp(net)(0, net(x))
# ---
import torch
from lightly.models.utils import deactivate_requires_grad


def features(build, loader, device):
    model = build()
    teacher = build()
    deactivate_requires_grad(teacher)
    freeze_bn(model)
    model.eval()
    total = 0
    for x, y in loader:  # <-
        total += (model(x.to(device)).argmax(1) == y).sum().item()
    return total
# ---
import torch
from torch import nn


def freeze(model):
    for name, param in model.named_parameters():
        if "stem" in name:
            param.requires_grad = False


def evaluate(loader):
    model = nn.Linear(8, 8)
    freeze(model)
    model.eval()
    for x, y in loader:  # <-
        print(model(x).argmax(1))
