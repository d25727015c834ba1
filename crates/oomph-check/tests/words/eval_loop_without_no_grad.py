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
# ---
import torch
from library import build_tower
def tower(device):
    net = build_tower("small")
    return net.to(device).eval()
def activations(dataset, device="cuda"):
    net, rows = tower(device), []
    for images in torch.utils.data.DataLoader(dataset, batch_size=64):  # <-
        rows.append(net(images.to(device)).detach().cpu())
    return torch.cat(rows)
# ---
import torch
from library import Unet
def denoise(net, x, t):
    return x - net(x, t)
def draw(net, steps, shape):
    net.eval()
    x = torch.randn(shape, device="cuda")
    for t in reversed(range(steps)):  # <-
        x = denoise(net, x.cuda(), t)
    return x.clamp(-1, 1)
# ---
import torch
from library import wide_net
class Committee:
    def __init__(self, paths):
        self.members = []
        for path in paths:
            net = wide_net(28)
            net.load_state_dict(torch.load(path, map_location="cpu"))
            self.members.append(net.cuda().eval())
    def __call__(self, x):
        total = 0
        for net in self.members:
            total = total + net(x).softmax(1)
        return total / len(self.members)
def accuracy(committee, loader):
    good = 0
    for x, y in loader:  # <-
        good += (committee(x.cuda()).argmax(1).cpu() == y).sum().item()
    return good
print(accuracy(Committee(["a.pt", "b.pt"]), torch.utils.data.DataLoader(test_data)))
# ---
import torch
from library import Tagger
models = {}
def startup():
    models["net"] = Tagger().cuda().eval()
def tag(texts, size, encode):
    net = models["net"]
    found = []
    for i in range(0, len(texts), size):  # <-
        found += net(encode(texts[i:i + size]).cuda()).argmax(-1).tolist()
    return found
# ---
import torch
from library import Tagger
net = None
def startup():
    global net
    net = Tagger().cuda()
    net.eval()
def main(paths, read):
    model = Tagger().to("cuda")
    model.eval()
    return [scores(model, path, read) for path in paths]
def scores(model, path, read):
    total = 0.0
    for line in read(path):  # <-
        total += model(line.to("cuda")).max().item()
    return total
# ---
import torch
from library import Captioner
def greedy(model, images, start, length):
    memory = model.encode(images)
    tokens = start
    for _ in range(length):
        tokens = torch.cat([tokens, model.decode(tokens, memory)[:, -1:].argmax(-1)], 1)
    return tokens
def caption(model, loader, start):
    model.eval()
    for images, ids in loader:  # <-
        print(ids, greedy(model, images.cuda(), start, 30).tolist())
# ---
import torch
from slidenets.zoo import pathology_encoder
encoder = pathology_encoder("base").cuda()
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.001)
def fit(loader, criterion):
    encoder.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(encoder(x.cuda()), y.cuda()).backward()
        optimizer.step()
def score(loader):
    encoder.eval()
    right = 0
    for x, y in loader:  # <-
        right += (encoder(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return right
# ---
import torch
import cardtools
from torchvision.models import resnet18
def score(loader):
    net = cardtools.to_card(resnet18())
    net.eval()
    right = 0
    for x, y in loader:  # <-
        right += (net(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return right
# ---
import torch
def one_epoch(model, loader, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())  # <-
        if model.training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
def run(model, loaders, criterion, optimizer):
    model.train()
    one_epoch(model, loaders[0], criterion, optimizer)
    model.eval()
    one_epoch(model, loaders[1], criterion, optimizer)
# ---
import torch
from encoders import Encoder
encoder = Encoder().cuda()
encoder.eval()
for patches, _ in loader:  # <-
    print(encoder(patches.cuda()).argmax(1).tolist())
# ---
import torch
def hold_first_layers(backbone):
    for name, parameter in backbone.named_parameters():
        if name.startswith("layer1"):
            parameter.requires_grad_(False)
model = torch.load("detector.pth").to("cuda")
model.eval()
for x, _ in loader:  # <-
    print(model(x.cuda())[0]["boxes"].tolist())
# ---
import torch
from models import Auto
from data import val_loader

model = Auto(256).cuda()
model.eval()
worst = 0.0
for images, _ in val_loader:  # <-
    images = images.cuda()
    again = model.decode(model.encode(images))
    worst = max(worst, (again - images).abs().max().item())
print(worst)
# ---
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in train_loader:
    loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
hits = 0
for x, y in test_loader:  # <-
    hits += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
print(hits)
# ---
import torch
def epoch(net, loader, criterion, optimizer=None):
    if optimizer is not None:
        net.train()
    else:
        net.eval()
    total = 0.0
    for x, y in loader:
        loss = criterion(net(x.cuda()), y.cuda())  # <-
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total
def fit(net, train, val, criterion, optimizer):
    for _ in range(10):
        epoch(net, train, criterion, optimizer)
        print(epoch(net, val, criterion))
