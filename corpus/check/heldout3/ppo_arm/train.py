"""PPO for the arm, 4096 simulated environments on the GPU."""
import torch

from ppo_arm.buffer import Rollout, gae
from ppo_arm.policy import ActorCritic
from ppo_arm.sim import ArmSim


def collect(env, policy, rollout, obs, horizon):
    for _ in range(horizon):
        action, logp, value = policy.act(obs)
        nxt, reward, done = env.step(action)
        rollout.add(obs=obs, action=action, logp=logp, value=value, reward=reward, done=done)
        obs = nxt
    return obs


def update(policy, opt, data, adv, ret, epochs=5, minibatches=4, clip=0.2):
    flat = {k: v.flatten(0, 1) for k, v in data.items() if k in ("obs", "action", "logp")}
    adv, ret = adv.flatten(), ret.flatten()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(epochs):
        for idx in torch.randperm(adv.numel(), device=adv.device).chunk(minibatches):
            d, v = policy.dist(flat["obs"][idx])
            ratio = (d.log_prob(flat["action"][idx]).sum(-1) - flat["logp"][idx]).exp()
            surr = torch.min(ratio * adv[idx], ratio.clamp(1 - clip, 1 + clip) * adv[idx])
            loss = -surr.mean() + 0.5 * (v - ret[idx]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def main(iters=3000, horizon=64):
    env = ArmSim(4096, device="cuda")
    policy = ActorCritic(env.obs_dim, env.act_dim).cuda()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
    rollout, obs = Rollout(), env.reset()
    rewards = torch.zeros(0, device="cuda")
    for it in range(iters):
        rollout.clear()
        obs = collect(env, policy, rollout, obs, horizon)
        data = rollout.stacked()
        with torch.no_grad():
            last = policy.dist(obs)[1]
            adv, ret = gae(data["reward"], data["value"], data["done"], last)
        update(policy, opt, data, adv, ret)
        rewards = torch.cat([rewards, data["reward"].flatten()])
        print(it, data["reward"].mean().item())
    torch.save({"policy": policy.state_dict(), "rewards": rewards.cpu()}, "arm.pt")


if __name__ == "__main__":
    main()
