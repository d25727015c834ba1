import copy

import torch
import torch.nn.functional as F


class SAC:
    def __init__(self, actor, critic, cfg):
        self.actor, self.critic = actor.to(cfg.device), critic.to(cfg.device)
        self.critic_target = copy.deepcopy(self.critic)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), cfg.lr)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), cfg.lr)
        self.cfg = cfg
        self.stats = []

    def update(self, batch):
        obs, act, rew, nxt, done = (b.to(self.cfg.device) for b in batch)
        next_a, next_lp = self.actor.sample(nxt)
        q1t, q2t = self.critic_target(nxt, next_a)
        target = rew + (1 - done) * self.cfg.gamma * (torch.min(q1t, q2t) - self.cfg.alpha * next_lp)
        q1, q2 = self.critic(obs, act)
        c_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.opt_c.zero_grad()
        c_loss.backward()
        self.opt_c.step()

        a, lp = self.actor.sample(obs)
        a_loss = (self.cfg.alpha * lp - torch.min(*self.critic(obs, a))).mean()
        self.opt_a.zero_grad()
        a_loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.actor.parameters(), 10.0)
        self.stats.append(norm)
        self.opt_a.step()
        with torch.no_grad():
            for t, p in zip(self.critic_target.parameters(), self.critic.parameters()):
                t.lerp_(p, self.cfg.tau)
