"""SAC from pixels on the arm."""
import copy

import torch
import torch.nn.functional as F

from arm.nets import Actor, PixelCritic


class SAC:
    def __init__(self, cfg):
        self.actor = Actor(cfg).cuda()
        self.critic = PixelCritic(cfg).cuda()
        self.critic_target = copy.deepcopy(self.critic)
        self.log_alpha = torch.zeros((), device="cuda", requires_grad=True)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), cfg.lr)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), cfg.lr)
        self.gamma, self.tau = cfg.gamma, cfg.tau

    def critic_step(self, batch):
        obs, act, rew, nxt, not_done = batch
        next_act, next_lp = self.actor.sample(nxt)
        q1_t, q2_t = self.critic_target(nxt, next_act)
        soft = torch.min(q1_t, q2_t) - self.log_alpha.exp() * next_lp
        y = rew + not_done * self.gamma * soft
        q1, q2 = self.critic(obs, act)
        loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return loss.item()

    @torch.no_grad()
    def sync(self):
        for p, t in zip(self.critic.parameters(), self.critic_target.parameters()):
            t.lerp_(p, self.tau)

    def act(self, frame):
        with torch.no_grad():
            mean, _ = self.actor.sample(frame.cuda().unsqueeze(0))
        return mean.squeeze(0).cpu().numpy()
