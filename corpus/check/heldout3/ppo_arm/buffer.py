import torch


class Rollout:
    """Transitions of one rollout, in the order in which they came."""

    FIELDS = ("obs", "action", "logp", "value", "reward", "done")

    def __init__(self):
        self.clear()

    def clear(self):
        self.store = {f: [] for f in self.FIELDS}

    def add(self, **step):
        for name, value in step.items():
            self.store[name].append(value)

    def stacked(self):
        return {k: torch.stack(v).detach() for k, v in self.store.items()}


def gae(reward, value, done, last, gamma=0.99, lam=0.95):
    adv = torch.zeros_like(reward)
    run = torch.zeros_like(last)
    for t in reversed(range(len(reward))):
        nxt = last if t == len(reward) - 1 else value[t + 1]
        delta = reward[t] + gamma * nxt * (1 - done[t]) - value[t]
        run = delta + gamma * lam * (1 - done[t]) * run
        adv[t] = run
    return adv, adv + value
