import argparse
import torch
import imageio
import gymnasium as gym


def load_policy(path, device):
    blob = torch.load(path)
    policy = blob["policy_cls"](**blob["policy_kwargs"]).to(device)
    policy.load_state_dict(blob["weights"])
    return policy


def watch(policy, env_id, episodes, device):
    policy.eval
    env = gym.make(env_id, render_mode="rgb_array")
    frames, totals = [], []
    torch.no_grad()
    for _ in range(episodes):
        obs, _ = env.reset()
        total, end = 0.0, False
        while not end:
            x = torch.tensor(obs, dtype=torch.float32, device=device).unsqueeze(0)
            mean, _ = policy(x)
            obs, r, term, trunc, _ = env.step(mean.argmax(-1).item())
            frames.append(env.render())
            total += r
            end = term or trunc
        totals.append(total)
    return frames, totals


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("ckpt")
    p.add_argument("--env", default="ALE/Breakout-v5")
    p.add_argument("-n", type=int, default=5)
    args = p.parse_args()
    pol = load_policy(args.ckpt, "cuda")
    fr, tot = watch(pol, args.env, args.n, "cuda")
    imageio.mimsave("play.gif", fr)
    print(tot)
