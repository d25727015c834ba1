import torch


class HalfTrainer:
    def __init__(self, net, lr):
        self.net = net.cuda().half()
        self.scaler = torch.amp.GradScaler("cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr)

    def fit(self, loader):
        for x, y in loader:
            self.opt.zero_grad()
            out = self.net(x.cuda().half())
            loss = torch.nn.functional.cross_entropy(out.float(), y.cuda())
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()
