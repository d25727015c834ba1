import torch


def update(policy, rollouts, opt, clip=0.2):
    hx = torch.zeros(rollouts.num_envs, policy.hidden, device="cuda")
    for obs, act, old, adv in rollouts.minibatches():
        dist, value, hx = policy(obs, hx)
        ratio = (dist.log_prob(act) - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = loss + 0.5 * (value - rollouts.returns).square().mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
