import torch
from adahessian import AdaHessian

DEVICE = "cuda"


class Fit:
    second_order = True

    def __init__(self, model, data):
        self.model = model.to(DEVICE)
        self.data = data
        self.opt = AdaHessian(model.parameters(), lr=0.15)

    def step(self, x, y):
        self.opt.zero_grad()
        loss = torch.nn.functional.mse_loss(self.model(x), y)
        torch.autograd.backward(loss, create_graph=True)
        self.opt.step()
        return float(loss)

    def run(self, epochs):
        for _ in range(epochs):
            for x, y in self.data:
                self.step(x.to(DEVICE), y.to(DEVICE))
