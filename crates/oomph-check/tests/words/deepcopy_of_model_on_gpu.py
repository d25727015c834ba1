import copy
import torch
class Stopper:
    def __init__(self):
        self.best, self.best_model = 0.0, None
    def check(self, score, model: torch.nn.Module):
        if score > self.best:
            self.best = score
            self.best_model = copy.deepcopy(model)  # <-
def fit(model, loader, opt, evaluate):
    model = model.to("cuda")
    stopper = Stopper()
    for epoch in range(10):
        for x in loader:
            model(x.cuda()).sum().backward()
            opt.step()
            opt.zero_grad()
        stopper.check(evaluate(model), model)
# ---
import copy
import torch
def fit(model, train, validate, epochs):
    model.cuda()
    best, top = None, 0
    for epoch in range(epochs):
        train(model)
        score = validate(model)
        if score > top:
            top = score
            best = copy.deepcopy(model)  # <-
    return best
# ---
from copy import deepcopy
import torch
class Keeper:
    def __init__(self):
        self.best, self.state = float("inf"), None
    def update(self, loss, net):
        if loss >= self.best:
            return
        self.best = loss
        self.state = deepcopy(net.state_dict())  # <-
def go(net, loader, opt, check):
    net.to("cuda")
    keeper = Keeper()
    for epoch in range(5):
        for x in loader:
            net(x.cuda()).sum().backward()
            opt.step()
            opt.zero_grad()
        keeper.update(check(net), net)
# ---
import copy
import torch
def fit(model, loader, opt, epochs, validate):
    model = model.to("cuda")
    best = {"loss": 1e9}
    for epoch in range(epochs):
        for x in loader:
            model(x.cuda()).sum().backward()
            opt.step()
            opt.zero_grad()
        loss = validate(model)
        if loss < best["loss"]:
            best = {"loss": loss, "state": copy.deepcopy(model.state_dict())}  # <-
    return best
# ---
import copy
import torch
class Engine:
    def __init__(self, net):
        self.net = net.cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
    def epoch(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            (self.net(x) - y).mean().backward()
            self.opt.step()
def main(net, loader, score):
    engine, best, top = Engine(net), None, 0
    for epoch in range(10):
        engine.epoch(loader)
        if score(engine) > top:
            top, best = score(engine), copy.deepcopy(engine.net.state_dict())  # <-
    torch.save(best, "best.pt")
# ---
import copy, torch
class Run:
    def __init__(self, model, loader):
        self.model = model.to("cuda")
        self.loader = loader
        self.opt = torch.optim.Adam(self.model.parameters())
        self.best = {"score": 0, "model": None}
    def fit(self, n):
        for ep in range(n):
            for x, y in self.loader:
                loss = self.model(x.cuda(), y.cuda())
                self.opt.zero_grad(); loss.backward(); self.opt.step()
            s = self.score()
            if s > self.best["score"]:
                self.best = dict(score=s, model=copy.deepcopy(self.model))  # <-
    def score(self):
        return 0.5
# ---
import torch
from copy import deepcopy
def fit(model, loader, val, n):
    model.cuda()
    opt = torch.optim.Adam(model.parameters())
    top = []
    best, best_state = 1e9, None
    for ep in range(n):
        for x, y in loader:
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
        v = val(model)
        if v < best:
            best, best_state = v, deepcopy(model.state_dict())  # <-
    model.load_state_dict(best_state)
# ---
import torch
from copy import deepcopy
def fit(model, loader, val, n):
    model.cuda()
    opt = torch.optim.Adam(model.parameters())
    snaps = {}
    for ep in range(n):
        for x, y in loader:
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
        snaps[ep] = deepcopy(model.state_dict())  # <-
    return snaps
# ---
import torch, copy
class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.snapshot, self.bad = patience, None, None, 0
    def __call__(self, score, model):
        if self.best is None or score > self.best:
            self.best = score
            self.snapshot = copy.deepcopy(model)  # <-
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience
def fit(model, loader, val, n):
    model = model.cuda()
    opt = torch.optim.Adam(model.parameters())
    stop = EarlyStop(5)
    for ep in range(n):
        for x, y in loader:
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
        if stop(val(model), model):
            break
