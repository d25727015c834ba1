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
# ---
import torch
def train(model, loader, opt, crit, k):
    left = k
    while left > 0:
        for x, y in loader:  # <-
            crit(model(x), y).backward()
        left -= 1
    opt.step()
    opt.zero_grad()
# ---
import torch
class T:
    def one(self, batch):
        (self.model(batch).mean() / self.accumulate).backward()
    def fit(self, loader):
        for _ in range(self.accumulate):
            for batch in loader:  # <-
                self.one(batch)
        self.optimizer.step()
        self.optimizer.zero_grad()
