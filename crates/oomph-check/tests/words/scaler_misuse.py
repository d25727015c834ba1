import torch
from torch.amp import GradScaler

def train_step(model, batch, opt):
    scaler = GradScaler("cuda")  # <-
    opt.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(**batch).loss
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()

def train(model, loader, opt):
    for batch in loader:
        train_step(model, batch, opt)
# ---
import torch

class Trainer:
    def __init__(self, net, lr):
        self.net = net.cuda().half()  # <-
        self.scaler = torch.amp.GradScaler("cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr)

    def fit(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.net(x.cuda().half()), y.cuda())
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()
# ---
import torch

def train(model, loader):
    model = model.to(torch.float16)  # <-
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        scaler.scale(torch.nn.functional.mse_loss(model(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()
