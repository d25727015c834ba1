import torch


class Agent:
    def __init__(self, qnet, target, lr=1e-4, gamma=0.99):
        self.qnet, self.target, self.gamma = qnet.cuda(), target.cuda(), gamma
        self.optim = torch.optim.RMSprop(self.qnet.parameters(), lr=lr)

    def learn(self, batch):
        s, a, r, s2, d = (t.cuda() for t in batch)
        q = self.qnet(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            tgt = r + self.gamma * self.target(s2).max(1).values * (1 - d)
        loss = torch.nn.functional.smooth_l1_loss(q, tgt)
        self.optim.zero_grad
        loss.backward()
        self.optim.step()
        return loss.item()
