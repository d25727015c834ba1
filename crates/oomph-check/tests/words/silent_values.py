import numpy as np
import torch
class Memory:
    def __init__(self, size, width):
        self.states = np.zeros((size, width), np.float32)
    def draw(self, which):
        return torch.from_numpy(self.states[which]).to("cuda")
def waves(length, wide):
    place = np.arange(length)
    if wide:
        place = place.astype(np.float32)
    return torch.from_numpy(place).cuda()
def on_card(array):
    return torch.from_numpy(array).cuda()
def main():
    return on_card(np.zeros((300, 400))), on_card(np.ones((300, 400), dtype=np.int8))
def narrowed():
    grid = torch.from_numpy(np.zeros((900, 900))).to("cuda")
    grid = grid.float()
    return grid
# ---
import torch
from torch import nn
from torchvision.models import resnet50
net = resnet50(weights="DEFAULT").cuda()
opt = torch.optim.SGD(net.fc.parameters(), 0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
from torch import nn
from transformers import AutoModel
encoder = AutoModel.from_pretrained("bert-base-uncased").cuda()
class Tagger(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.out = nn.Linear(768, 9)
    def forward(self, hidden):
        return self.out(hidden)
tagger = Tagger(encoder).cuda()
opt = torch.optim.AdamW(tagger.parameters(), 2e-5)
for ids, y in loader:
    hidden = encoder(ids.cuda()).last_hidden_state
    loss = nn.functional.cross_entropy(tagger(hidden).flatten(0, 1), y.cuda().flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
from nets import Student, Expert
def freeze(parts):
    for part in parts:
        part.requires_grad_(False)
student, expert = Student().cuda(), Expert().cuda()
expert.load_state_dict(torch.load("expert.pt", map_location="cpu"))
freeze([expert])
opt = torch.optim.Adam(student.parameters())
for x in loader:
    loss = (student(x.cuda()) - expert(x.cuda())).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
from torchvision.models import resnet50
def load(path):
    net = resnet50()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    return net.cuda()
def classify(net, image):
    return net(image[None].cuda()).argmax(1).item()
def main(images):
    net = load("net.pt")
    with torch.inference_mode():
        for image in images:
            print(classify(net, image))
# ---
import torch
def improve(loss, optimizer):
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
def train(net, loader, first, second):
    for x, y in loader:
        out = net(x.cuda())
        improve(out.pow(2).mean(), first)
        improve((out - y.cuda()).pow(2).mean(), second)
# ---
import torch
def train(net, loader, opt):
    seen = 0
    for x, y in loader:
        torch.nn.functional.cross_entropy(net(x), y).backward()
        seen += 1
        if seen == 4:
            opt.step()
            opt.zero_grad()
            seen = 0
    opt.step()
# ---
import torch
def transfer(net, path):
    saved = torch.load(path, map_location="cpu")
    own = net.state_dict()
    own.update({k: v for k, v in saved.items() if k in own})
    net.load_state_dict(own)
    return net.cuda()
# ---
import torch
def train(net, loader, opt, every):
    waiting, seen = [], 0
    for task in loader:
        waiting.append(net.adapt(task))
        seen += 1
        if seen == every:
            torch.stack(waiting).sum().backward()
            opt.step()
            waiting, seen = [], 0
        opt.zero_grad()
# ---
import torch
from torch import nn
class Both(nn.Module):
    def __init__(self, judge, maker):
        super().__init__()
        self.judge, self.maker = judge, maker
        self.criterion = nn.BCEWithLogitsLoss()
        self.opts = [torch.optim.Adam(self.judge.parameters()), torch.optim.Adam(self.maker.parameters())]
    def step(self, real, z):
        for opt in self.opts:
            opt.zero_grad()
        score = self.judge(self.maker(z))
        loss = self.criterion(score, torch.ones_like(score))
        loss.backward()
        for opt in self.opts:
            opt.step()
# ---
import torch
def train(G, D, loader, mse, every):
    og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
    for i, (a, b) in enumerate(loader):
        p = D(G(a))
        mse(p, torch.ones_like(p)).backward()
        og.step()
        if i % every == 0:
            og.zero_grad()
        od.zero_grad()
        q = D(G(a).detach())
        mse(q, torch.zeros_like(q)).backward()
        od.step()
# ---
import torch
def train(maker, front, judge, reader, loader, bce, ce):
    first = torch.optim.Adam([{"params": front.parameters()}, {"params": judge.parameters()}])
    second = torch.optim.Adam([{"params": maker.parameters()}, {"params": reader.parameters()}])
    for real, z, code in loader:
        first.zero_grad()
        a, b = judge(front(real)), judge(front(maker(z).detach()))
        (bce(a, torch.ones_like(a)) + bce(b, torch.zeros_like(b))).backward()
        first.step()
        second.zero_grad()
        seen = front(maker(z))
        c = judge(seen)
        (bce(c, torch.ones_like(c)) + ce(reader(seen), code)).backward()
        second.step()
