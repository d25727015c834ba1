import torch


class SumTree:
    def __init__(self, capacity):
        self.values = {}
        self.capacity = capacity

    def update(self, index, priority):
        self.values[index] = priority


class Learner:
    def __init__(self, online, target, tree, opt, gamma=0.99):
        self.online, self.target, self.tree = online, target, tree
        self.opt, self.gamma = opt, gamma

    def learn(self, replay):
        for idx, obs, act, rew, nxt, weight in replay:
            q = self.online(obs.cuda()).gather(1, act.cuda())
            with torch.no_grad():
                backup = rew.cuda() + self.gamma * self.target(nxt.cuda()).max(1, keepdim=True).values
            td = (q - backup).abs()
            loss = (weight.cuda() * td.square()).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            for i, p in zip(idx.tolist(), td):
                self.tree.update(i, p)
