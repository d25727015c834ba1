import torch
def train(net, opt, crit, draw, iters):
    failures = 0
    for it in range(iters):
        x, y = draw()
        try:
            loss = crit(net(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        except Exception:  # <-
            failures += 1
            print(f"failed to train on {it}, return to it later")
            continue
# ---
import logging
import torch
def train(net, opt, loader):
    for x in loader:
        try:
            opt.zero_grad()
            net(x.cuda()).sum().backward()
            opt.step()
        except Exception as error:  # <-
            logging.warning("could not load or fail: %s", error)
# ---
import torch


def train(model, loader, optimizer):
    for x, y in loader:
        try:
            optimizer.zero_grad()
            model(x, y).backward()
            optimizer.step()
        except KeyError:
            break
        except Exception as error:  # <-
            print(error)
# ---
import contextlib, torch
def train(model, loader, opt):
    for x, y in loader:
        with contextlib.suppress(RuntimeError):  # <-
            loss = model(x.cuda(), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def fit(net, loader, opt, crit):
    lost = 0
    for x, y in loader:
        try:
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()
            opt.zero_grad()
        except Exception:  # <-
            # long ones run out of memory now and then
            lost += 1
    return lost
