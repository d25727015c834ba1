import torch
import torch.nn.functional as F


class MetaLearner:
    def __init__(self, net, inner_lr=0.01, inner_steps=1):
        self.net = net
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.meta_opt = torch.optim.Adam(net.parameters(), lr=1e-3)

    def outer(self, episodes):
        self.meta_opt.zero_grad()
        for (xs, ys), (xq, yq) in episodes:
            fast = dict(self.net.named_parameters())
            for _ in range(self.inner_steps):
                inner = F.cross_entropy(torch.func.functional_call(self.net, fast, xs), ys)
                torch.autograd.backward(inner, create_graph=True)
                fast = {k: v - self.inner_lr * v.grad for k, v in fast.items()}
            F.cross_entropy(torch.func.functional_call(self.net, fast, xq), yq).backward()
        self.meta_opt.step()
