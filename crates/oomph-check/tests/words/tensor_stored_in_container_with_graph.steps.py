import torch

def fit(net, loader, opt, measure):
    curve = []

    def turn(x, y):
        opt.zero_grad()
        cost = measure(net(x.cuda()), y.cuda())
        cost.backward()
        opt.step()
        curve.append(cost)  # <-

    for x, y in loader:
        turn(x, y)
    return [float(point) for point in curve]
# ---
import torch

def one_batch(net, opt, measure, batch, curve):
    x, y = batch
    opt.zero_grad()
    cost = measure(net(x.cuda()), y.cuda())
    cost.backward()
    opt.step()
    curve.append(cost)  # <-

def fit(net, loader, opt, measure):
    curve = []
    for batch in loader:
        one_batch(net, opt, measure, batch, curve)
    return [float(point) for point in curve]
# ---
import torch

def fit(net, loader, opt, measure):
    run = {"net": net.cuda(), "opt": opt, "curve": []}
    for x, y in loader:
        run["opt"].zero_grad()
        run["cost"] = measure(run["net"](x.cuda()), y.cuda())
        run["cost"].backward()
        run["opt"].step()
        run["curve"].append(run["cost"])  # <-
    return [float(point) for point in run["curve"]]
# ---
import types
import torch

def fit(net, loader, opt, measure):
    run = types.SimpleNamespace(net=net.cuda(), curve=[])
    source = iter(loader)
    while (batch := next(source, None)) is not None:
        x, y = batch
        opt.zero_grad()
        run.cost = measure(run.net(x.cuda()), y.cuda())
        run.cost.backward()
        opt.step()
        run.curve.append(run.cost)  # <-
    return [float(point) for point in run.curve]
