import copy
import torch
class Stopper:
    def __init__(self):
        self.best, self.best_model = 0.0, None
    def check(self, score, model: torch.nn.Module):
        if score > self.best:
            self.best = score
            self.best_model = copy.deepcopy(model)  # <-
def fit(model, loader, opt, evaluate):
    model = model.to("cuda")
    stopper = Stopper()
    for epoch in range(10):
        for x in loader:
            model(x.cuda()).sum().backward()
            opt.step()
            opt.zero_grad()
        stopper.check(evaluate(model), model)
