import torch


class GradCAM:
    def __init__(self, model, layer):
        self.model = model.eval()
        self.feat = self.grad = None
        self.handles = [layer.register_forward_hook(self.keep), layer.register_full_backward_hook(self.keep_grad)]

    def keep(self, m, i, o):
        self.feat = o

    def keep_grad(self, m, gi, go):
        self.grad = go[0]

    def __call__(self, x, cls):
        score = self.model(x)[:, cls].sum()
        self.model.zero_grad()
        score.backward()
        w = self.grad.mean((2, 3), keepdim=True)
        return torch.relu((w * self.feat).sum(1)).detach().cpu()

    def close(self):
        for h in self.handles:
            h.remove()
