import os
import pickle

import torch
from torch.optim import AdamW
from tqdm import tqdm

from policy import ACTPolicy
from utils import load_data, set_seed


def kl_divergence(mu, logvar):
    klds = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp())
    return klds.sum(1).mean(0)


def compute_dict(policy, batch, kl_weight):
    image, qpos, action, is_pad = [b.cuda() for b in batch]
    a_hat, (mu, logvar) = policy(qpos, image, action, is_pad)
    l1 = (torch.nn.functional.l1_loss(action, a_hat, reduction="none") * ~is_pad.unsqueeze(-1)).mean()
    kl = kl_divergence(mu, logvar)
    return {"l1": l1, "kl": kl, "loss": l1 + kl * kl_weight}


def mean_dict(ds):
    return {k: sum(d[k] for d in ds) / len(ds) for k in ds[0]}


def train_bc(cfg):
    set_seed(cfg["seed"])
    train_dl, val_dl, stats = load_data(cfg["dataset_dir"], cfg["batch_size"])
    policy = ACTPolicy(cfg["policy"]).cuda()
    opt = AdamW(policy.parameters(), lr=cfg["lr"])
    train_history, val_history = [], []

    for epoch in tqdm(range(cfg["num_epochs"])):
        with torch.inference_mode():
            policy.eval()
            vals = [compute_dict(policy, b, cfg["kl_weight"]) for b in val_dl]
            val_history.append({k: v.item() for k, v in mean_dict(vals).items()})

        policy.train()
        opt.zero_grad()
        for batch in train_dl:
            fd = compute_dict(policy, batch, cfg["kl_weight"])
            fd["loss"].backward()
            opt.step()
            opt.zero_grad()
            train_history.append(fd)
        print(f"epoch {epoch}", mean_dict(train_history[-len(train_dl):]))

    with open(os.path.join(cfg["ckpt_dir"], "stats.pkl"), "wb") as f:
        pickle.dump(stats, f)
