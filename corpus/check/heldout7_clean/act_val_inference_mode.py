import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from demos import DemoDataset
from policies import ChunkPolicy


def batch_loss(policy, batch, device):
    img, qpos, act = (t.to(device) for t in batch)
    return F.l1_loss(policy(img, qpos), act)


@torch.inference_mode()
def validate(policy, loader, device):
    policy.eval()
    total = torch.zeros((), device=device)
    for batch in loader:
        total += batch_loss(policy, batch, device)
    return total.item() / len(loader)


def train(cfg):
    device = torch.device("cuda")
    policy = ChunkPolicy(cfg["act_dim"], cfg["chunk"]).to(device)
    opt = torch.optim.AdamW(policy.parameters(), lr=cfg["lr"])
    tr = DataLoader(DemoDataset("train"), cfg["bs"], shuffle=True, num_workers=4)
    va = DataLoader(DemoDataset("val"), cfg["bs"], num_workers=4)
    history = []
    for epoch in range(cfg["epochs"]):
        policy.train()
        for batch in tr:
            opt.zero_grad()
            loss = batch_loss(policy, batch, device)
            loss.backward()
            opt.step()
            history.append(loss.item())
        print(epoch, validate(policy, va, device))
