import torch
import torch.nn.functional as F


def grad_vector(model):
    return torch.cat([p.grad.view(-1) for p in model.parameters()])


class Trainer:
    def __init__(self, net, history=100):
        self.net = net.cuda()
        self.opt = torch.optim.LBFGS(self.net.parameters(), max_iter=20)

    def closure_for(self, x, y):
        def closure():
            self.opt.zero_grad()
            logp = torch.log(F.softmax(self.net.forward(x), dim=1))
            loss = F.nll_loss(logp, y)
            loss.backward()
            return loss

        return closure

    def fit(self, loader):
        for x, y in loader:
            self.opt.step(self.closure_for(x.cuda(), y.cuda()))
            print(grad_vector(self.net).norm().item())
