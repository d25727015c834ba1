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
