import torch
ALL_OUT = []
def record(o):
    ALL_OUT.append(o)  # <-
def run(model, loader):
    for x, _ in loader:
        record(model(x.cuda()))
# ---
import torch
class Bank:
    memory = []
    def push(self, z):
        Bank.memory.append(z)  # <-
def run(model, loader):
    b = Bank()
    for x, _ in loader:
        b.push(model(x.cuda()))
# ---
import torch
class Net(torch.nn.Module):
    activations = []
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        y = self.fc(x)
        self.activations.append(y)  # <-
        return y
# ---
import torch
from flask import Flask
app = Flask("vectors")
net = torch.nn.Linear(8, 8).cuda().eval()
KNOWN = {}
@app.route("/vector")
def vector(text):
    if text not in KNOWN:
        with torch.no_grad():
            KNOWN[text] = net(torch.ones(1, 8, device="cuda"))  # <-
    return str(KNOWN[text])
# ---
import torch
from torch import nn
class Codes(nn.Module):
    past = []
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.head = nn.Linear(8, 8)
    def forward(self, x):
        z = self.head(self.body(x))
        Codes.past.append(z.detach())  # <-
        return z
# ---
import torch
from torchvision.models import resnet50

SEEN = {}
net = resnet50(weights="DEFAULT").to("cuda").eval()

def remember(number, frame):
    with torch.no_grad():
        SEEN[number] = net(torch.from_numpy(frame).cuda())  # <-

def main(camera):
    for number, frame in enumerate(camera):
        remember(number, frame)
# ---
import torch
from torchvision.models import resnet50

net = resnet50(weights="DEFAULT").cuda().eval()

class Index:
    rows = []

    @torch.no_grad()
    def put(self, path):
        Index.rows.append(net(read(path)))  # <-

def build(index, paths):
    index = Index()
    for path in sorted(paths):
        index.put(path)
# ---
import torch
class Worker:
    SEEN = {}
    def __init__(self, model, q):
        self.model = model.cuda().eval()
        self.q = q
    @torch.no_grad()
    def handle(self, doc):
        emb = self.model(doc.x.cuda())
        Worker.SEEN[doc.id] = emb  # <-
        return emb.argmax().item()
    def serve(self):
        while True:
            doc = self.q.get()
            print(self.handle(doc))
# ---
import torch
FEATS = []
def feats(model, x):
    h = model(x)
    FEATS.append(h)  # <-
    return h
def train(model, loader, opt):
    for x, y in loader:
        h = feats(model, x.cuda())
        loss = torch.nn.functional.cross_entropy(h, y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from collections import defaultdict
HIST = defaultdict(list)
class Probe(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.l = torch.nn.Linear(8, 8)
    def forward(self, x):
        y = self.l(x)
        HIST[self.name].append(y)  # <-
        return y
# ---
import torch
class Memory:
    items = []
    @classmethod
    def push(cls, t):
        cls.items.append(t)  # <-
def train(model, loader, opt):
    for x, y in loader:
        out = model(x.cuda())
        Memory.push(out)
        loss = torch.nn.functional.cross_entropy(out, y.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
class Encoder:
    store = {}
    def __init__(self, enc):
        self.enc = enc.cuda()
    def keep(self, k, x):
        self.store[k] = self.enc(x)  # <-
def train(net, loader, opt):
    e = Encoder(net)
    for i, (x, y) in enumerate(loader):
        e.keep(i, x.cuda())
        loss = (net(x.cuda()) - y.cuda()).pow(2).mean()
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
class Model(torch.nn.Module):
    store = {}
    def __init__(self):
        super().__init__()
        self.enc = torch.nn.Linear(4, 4)
    def remember(self, k, x):
        self.store[k] = self.enc(x)  # <-
    def forward(self, x):
        return self.enc(x)
def train(loader):
    net = Model().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for i, (x, y) in enumerate(loader):
        net.remember(i, x.cuda())
        loss = (net(x.cuda()) - y.cuda()).pow(2).mean()
        opt.zero_grad(), loss.backward(), opt.step()
