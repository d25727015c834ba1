import torch
import torch.nn.functional as F

from hover import make_env
from sac_nets import Actor, Critic, soft_update
from replay import Replay

env = make_env()
actor = Actor(env.obs_dim, env.act_dim, 1024).cuda()
critic = Critic(env.obs_dim, env.act_dim, 1024).cuda()
critic_t = Critic(env.obs_dim, env.act_dim, 1024).cuda()
critic_t.load_state_dict(critic.state_dict())
pi_opt = torch.optim.Adam(actor.parameters(), 3e-4)
q_opt = torch.optim.Adam(critic.parameters(), 3e-4)
buf = Replay(1_000_000)
alpha = 0.2


def update():
    s, a, r, s2, d = [x.cuda() for x in buf.sample(4096)]
    with torch.no_grad():
        a2, lp2 = actor.sample(s2)
        q1, q2 = critic_t(s2, a2)
        y = r + 0.99 * (1 - d) * (torch.min(q1, q2) - alpha * lp2)
    q1, q2 = critic(s, a)
    q_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
    q_opt.zero_grad()
    q_loss.backward(retain_graph=True)
    q_opt.step()

    a_new, lp = actor.sample(s)
    pi_loss = (alpha * lp - torch.min(*critic(s, a_new))).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    soft_update(critic_t, critic, 0.005)


obs = env.reset()
for t in range(500_000):
    with torch.no_grad():
        act, _ = actor.sample(torch.as_tensor(obs).float().cuda()[None])
    act = act[0].cpu().numpy()
    nxt, rew, done = env.step(act)
    buf.add(obs, act, rew, nxt, done)
    obs = env.reset() if done else nxt
    if t > 10_000:
        update()
