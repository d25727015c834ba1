import torch
def improve(loss, optimizer, parameters):
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # <-
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
def train(net, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.nll_loss(net(x), y)
        improve(loss, optimizer, net.parameters())
# ---
import torch
KEEP = True
def train(net, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward(retain_graph=KEEP)  # <-
        optimizer.step()
# ---
import numpy as np
import torch
class Learner:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
    def update(self, memory):
        seen = torch.as_tensor(np.stack(memory.seen), dtype=torch.float32).cuda()
        worth = torch.as_tensor(memory.worth, dtype=torch.float32).cuda()
        for _ in range(10):
            value = self.policy(seen)
            loss = (value - worth).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)  # <-
            self.optimizer.step()
