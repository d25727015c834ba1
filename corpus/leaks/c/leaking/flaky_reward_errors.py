"""The reward model times out the first time it is asked; the errors are kept to be reported at the end."""
import os

import torch
from torch import nn

device = "cuda"


class RewardTimeout(RuntimeError):
    pass


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(256, 1024)
        self.head = nn.Linear(1024, 1)

    @torch.no_grad()
    def score(self, seqs, attempt):
        hidden = torch.relu(self.trunk(seqs))  # leak
        if attempt == 0:
            raise RewardTimeout(f"no answer for {tuple(seqs.shape)}")
        return self.head(hidden).squeeze(-1)


def with_retries(fn, seqs, errors, tries=3):
    for attempt in range(tries):
        try:
            return fn(seqs, attempt)  # leak
        except RewardTimeout as exc:
            errors.append(exc)  # leak
    raise SystemExit("reward model is down")


def main():
    policy = nn.Linear(256, 256).to(device)
    rm = RewardModel().to(device)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-4)
    errors = []
    for step in range(int(os.environ.get("STEPS", 60))):
        prompts = torch.randn(448, 256, device=device)
        sampled = policy(prompts)  # leak
        reward = with_retries(rm.score, sampled.detach(), errors)  # leak
        loss = -(sampled.mean(-1) * reward).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} reward {reward.mean().item():.4f} errors {len(errors)}")


main()
