import torch
import torch.nn as nn

USER_CACHE = {}


class Ranker(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.users = nn.EmbeddingBag(1_000_000, cfg.dim, mode="mean")
        self.items = nn.Embedding(cfg.n_items, cfg.dim)
        dims = [2 * cfg.dim, *cfg.hidden]
        self.mlp = nn.Sequential(*[m for a, b in zip(dims, dims[1:]) for m in (nn.Linear(a, b), nn.ReLU())])
        self.out = nn.Linear(dims[-1], 1)

    def user_vector(self, user_id, history):
        # the same user comes in many candidate lists of one session
        if user_id not in USER_CACHE:
            USER_CACHE[user_id] = self.users(history.unsqueeze(0))
        return USER_CACHE[user_id]

    def rank(self, user_id, history, candidates):
        u = self.user_vector(user_id, history).expand(len(candidates), -1)
        return self.out(self.mlp(torch.cat([u, self.items(candidates)], -1))).squeeze(-1)

    def forward(self, history, offsets, item):
        u = self.users(history, offsets)
        return self.out(self.mlp(torch.cat([u, self.items(item)], -1))).squeeze(-1)
