import torch

weights = torch.load("net.pt", map_location="cuda:0")  # <-
net = make_net()
net.to("cuda:0")
net.load_state_dict(weights)
net.eval()

def predict(x):
    with torch.inference_mode():
        return net(x).argmax(1).tolist()
# ---
import torch

def main(args, model, optimizer, loader):
    model.cuda()
    if args.distributed:
        checkpoint = torch.load(args.path, map_location="cpu")
        model.load_state_dict(checkpoint["model"])
    else:
        checkpoint = torch.load(args.path)
        model.load_state_dict(checkpoint)
    if args.resume:
        state = torch.load(args.resume)  # <-
        model.load_state_dict(state["model"])
    load_more = False
    if load_more:
        more = torch.load(args.more)
        model.load_state_dict(more["model"])
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch

def main(args, model, optimizer, loader):
    model.cuda()
    checkpoint = torch.load(args.start)
    model.load_state_dict(checkpoint["model"])
    checkpoint = torch.load(args.config)
    optimizer.lr = checkpoint["lr"]
    state = torch.load(args.resume)  # <-
    model.load_state_dict(state["model"])
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch

def go_on(optimizer, loader, path):
    checkpoint = torch.load(path, map_location="cuda")
    model = checkpoint["structure"]
    model.load_state_dict(checkpoint["model"])
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

def again(model, optimizer, loader, path):
    checkpoint = torch.load(path, map_location="cuda")  # <-
    model.load_state_dict(checkpoint["model"])
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch

def fit(net, loader):
    optimizer = torch.optim.Adam(net.parameters())
    for x in loader:
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

def sample(model, classifier, loader):
    state = torch.load("last.pt", map_location="cuda")
    model.load_state_dict(state["model"])
    fit(classifier, loader)

def go_on(model, loader):
    state = torch.load("last.pt", map_location="cuda")  # <-
    model.load_state_dict(state["model"])
    fit(model, loader)
# ---
import torch

def probe(features, head, optimizer, loader):
    state = torch.load("last.pt", map_location="cuda")
    features.load_state_dict(state["model"])
    features.eval()
    for x in loader:
        head(features(x).detach()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

def tune(body, optimizer, loader):
    state = torch.load("last.pt", map_location="cuda")  # <-
    body.load_state_dict(state["model"])
    body.train()
    for x in loader:
        body(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch

def run_epoch(model, loader, optimizer=None):
    for x in loader:
        loss = model(x).sum()
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

def test(model, loader):
    state = torch.load("best.pt", map_location="cuda")
    model.load_state_dict(state["model"])
    run_epoch(model, loader)

def go_on(model, optimizer, loader, epochs):
    state = torch.load("best.pt", map_location="cuda")  # <-
    model.load_state_dict(state["model"])
    for epoch in range(epochs):
        run_epoch(model, loader, optimizer)
# ---
import torch

def attack(model, loader, step):
    state = torch.load("last.pt", map_location="cuda")
    model.load_state_dict(state["model"])
    for x, y in loader:
        x.requires_grad_()
        model(x).sum().backward()
        step(x, x.grad)

def go_on(model, optimizer, loader):
    state = torch.load("last.pt", map_location="cuda")  # <-
    model.load_state_dict(state["model"])
    for x, y in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# ---
import torch
from parts import Net
class Server:
    def __init__(self, path):
        saved = torch.load(path, map_location="cuda")  # <-
        self.net = Net().cuda()
        self.net.load_state_dict(saved["weights"])
        self.saved = saved
    def stamp(self):
        return self.saved["stamp"]
# ---
import torch
import torch.nn as nn

def main(model, optimizer, loader, rank):
    model = nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[rank])
    state = torch.load("last.pt", map_location={"cuda:0": f"cuda:{rank}"})  # <-
    model.load_state_dict(state["model"])
    for x in loader:
        optimizer.zero_grad()
        model(x.cuda()).sum().backward()
        optimizer.step()
# ---
import torch

model = Net().cuda()
saved = torch.load("lstm.pt", map_location="cuda")  # <-
model.load_state_dict(saved["net"])

def pre_train(optimizer, steps):
    for step in range(steps):
        optimizer.zero_grad()
        model(step).sum().backward()
        optimizer.step()

for seed in range(15):
    pre_train(prepare(), 100)
# ---
import torch
from nets import Net

def main(files):
    net = Net().cuda()
    state = torch.load("w.pt", map_location="cuda:0")  # <-
    net.load_state_dict(state["model"])
    net.eval()
    with torch.no_grad():
        for name in files:
            x = torch.load(name, map_location="cpu").cuda()
            torch.save(net(x).argmax(1).cpu(), name + ".out")
# ---
import torch
from torchvision.models import resnet18

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main(loader, path):
    model = resnet18()
    state = torch.load(path, map_location=device)  # <-
    model.load_state_dict(state["model"])
    model.to(device).eval()
    with torch.no_grad():
        for x in loader:
            print(model(x.to(device)).argmax(1).tolist())
