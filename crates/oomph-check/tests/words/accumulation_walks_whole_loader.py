import torch
def train(net, dl, opt, crit, accumulate=8):
    for epoch in range(5):
        opt.zero_grad()
        for _ in range(accumulate):
            for batch in dl:  # <-
                x, y = batch
                (crit(net(x.cuda()), y.cuda()) / accumulate).backward()
        opt.step()
# ---
import torch
def one_pass(net, dl, crit, n):
    for x, y in dl:  # <-
        loss = crit(net(x.cuda()), y.cuda()) / n
        loss.backward()
def train(net, dl, opt, crit, n_acc):
    opt.zero_grad()
    for k in range(n_acc):
        one_pass(net, dl, crit, n_acc)
    opt.step()
