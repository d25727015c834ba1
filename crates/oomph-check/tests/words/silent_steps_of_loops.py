import torch

def fit(net, loader, opt, measure):
    curve = []

    def turn(x, y):
        opt.zero_grad()
        cost = measure(net(x.cuda()), y.cuda())
        cost.backward()
        opt.step()
        curve.append(cost.item())

    for x, y in loader:
        turn(x, y)
    return curve
# ---
import torch

@torch.no_grad()
def count(net, batch):
    x, y = batch
    guess = net(x.cuda()).argmax(1)
    return (guess.cpu() == y).sum().item()

def accuracy(net, val_loader):
    net.eval()
    right = 0
    for batch in val_loader:
        right += count(net, batch)
    return right / len(val_loader.dataset)
# ---
import torch

# What a step binds ends with it: nothing of the last turn is there in the next, whatever was raised.
def turn(net, opt, measure, x, y):
    opt.zero_grad()
    try:
        cost = measure(net(x.cuda()), y.cuda())
        cost.backward()
        opt.step()
    except RuntimeError:
        print("skipped")

def fit(net, loader, opt, measure):
    for x, y in loader:
        turn(net, opt, measure, x, y)
# ---
import torch

# An entry is replaced on every turn, as a variable is.
def fit(net, loader, opt, measure):
    run = {"net": net.cuda(), "cost": None}
    for x, y in loader:
        opt.zero_grad()
        run["cost"] = measure(run["net"](x.cuda()), y.cuda())
        run["cost"].backward()
        opt.step()
    return run["cost"].item()
# ---
import torch

# A function that others may call by its name clears the gradients that this loop makes.
def turn(net, opt, measure, x, y):
    cost = measure(net(x.cuda()), y.cuda())
    cost.backward()
    opt.step()
    opt.zero_grad()
    return cost.item()

def fit(net, loader, opt, measure):
    total = 0.0
    for x, y in loader:
        total = total + turn(net, opt, measure, x, y)
    return total
# ---
import torch

# What is made of itself has no beginning in view.
def fit(net, params, loader, measure):
    params = list(params)
    opt = torch.optim.Adam(params)
    for x, y in loader:
        opt.zero_grad()
        measure(net(x.cuda()), y.cuda()).backward()
        opt.step()
# ---
import torch

# What is added to here is made in the same line, and goes with the step.
def cost_of(net, x, mu, logvar):
    spread = mu.pow(2).add_(logvar.exp()).mul_(-1).add_(1).add_(logvar)
    return (net(mu) - x).pow(2).sum() + spread.sum().mul_(-0.5)

def fit(net, encode, loader, opt):
    for x in loader:
        mu, logvar = encode(x.cuda())
        cost = cost_of(net, x.cuda(), mu, logvar)
        opt.zero_grad()
        cost.backward()
        opt.step()
