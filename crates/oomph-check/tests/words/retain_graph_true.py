import torch
class M:
    def optimize(self, x, y):
        pred = self.net(x.to(self.device))
        loss = self.crit(pred, y.to(self.device))
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)  # <-
        self.optimizer.step()
# ---
import torch
def train(net, loader, opt, crit):
    scaler = torch.amp.GradScaler()
    for x, y in loader:
        loss = crit(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward(retain_graph=True)  # <-
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
# ---
import torch
def train(net, loader, opt, crit, accelerator):
    for batch in loader:
        loss = net(**batch).loss
        accelerator.backward(loss, retain_graph=True)  # <-
        opt.step()
        opt.zero_grad()
# ---
import torch
def train(net, loader, opt, crit):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x.cuda()), y.cuda())
        loss.backward(None, True)  # <-
        opt.step()
