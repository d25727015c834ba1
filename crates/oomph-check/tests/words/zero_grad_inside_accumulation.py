import torch
def train(model, loader, optimizer, criterion, accum_steps):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()  # <-
        loss = criterion(model(x.cuda()), y.cuda()) / accum_steps
        loss.backward()
        sync = (i + 1) % accum_steps == 0
        if sync:
            optimizer.step()
# ---
import torch
def train(model, loader, optimizer, criterion, accum_steps):
    count = 0
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda()) / accum_steps
        model.zero_grad(set_to_none=True)  # <-
        loss.backward()
        count += 1
        if count == accum_steps:
            optimizer.step()
            count = 0
# ---
import torch
class T:
    def micro(self, x, y):
        self.optimizer.zero_grad()
        loss = self.crit(self.model(x.cuda()), y.cuda())
        (loss / self.grad_accum).backward()
    def fit(self, loader):
        for i, (x, y) in enumerate(loader):
            self.micro(x, y)  # <-
            if (i + 1) % self.grad_accum == 0:
                self.optimizer.step()
# ---
import torch
def train(model, loader, optimizer, criterion, n):
    for big_x, big_y in loader:
        for x, y in zip(big_x.split(n), big_y.split(n)):
            optimizer.zero_grad()  # <-
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
        optimizer.step()
# ---
import torch
from accelerate import Accelerator
acc = Accelerator()
def train(model, loader, optimizer, accumulate):
    for step, batch in enumerate(loader):
        optimizer.zero_grad()  # <-
        loss = model(**batch).loss / accumulate
        acc.backward(loss)
        if not (step + 1) % accumulate:
            optimizer.step()
# ---
import torch
def train(model, loader, optimizer, criterion, cfg):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()  # <-
        with torch.autocast("cuda"):
            loss = criterion(model(x.cuda()), y.cuda()) / cfg.accum
        loss.backward()
        if (i + 1) % cfg.accum == 0 or (i + 1) == len(loader):
            optimizer.step()
# ---
import torch
def train(model, loader, opt, crit, enough):
    tokens = 0
    for x, y in loader:
        opt.zero_grad()  # <-
        crit(model(x), y).backward()
        tokens += y.numel()
        if tokens >= enough:
            opt.step()
            tokens = 0
# ---
import torch
from accelerate import Accelerator
def train(model, loader, crit):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            model.zero_grad()  # <-
            accelerator.backward(crit(model(x), y))
            opt.step()
# ---
import torch
def train(model, loader, opt, scaler, crit, every, amp):
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()  # <-
        crit(model(x), y).backward()
        if (step + 1) % every == 0:
            if amp:
                scaler.step(opt)
            else:
                opt.step()
