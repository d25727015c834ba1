"""DAgger on the gripper: aggregate, retrain, roll out."""
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader

from gripper import expert_label, make_policy, rollout


def retrain(policy, data, epochs=10):
    policy.train()
    for epoch in range(epochs):
        for obs, act in DataLoader(data, batch_size=256, shuffle=True):
            optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
            obs, act = obs.cuda(), act.cuda()
            loss = nn.functional.smooth_l1_loss(policy(obs), act)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(policy, n=50):
    policy.eval()
    return sum(rollout(policy).success for _ in range(n)) / n


def main(rounds=20):
    policy = make_policy("resnet18_spatial_softmax").cuda()
    sets = [expert_label(rollout(None, steps=5000))]
    for r in range(rounds):
        loss = retrain(policy, ConcatDataset(sets))
        with torch.no_grad():
            fresh = rollout(policy, steps=2000)
        sets.append(expert_label(fresh))
        print(f"round {r}: loss {loss:.4f}, success {evaluate(policy):.2%}")
        torch.save(policy.state_dict(), "dagger.pt")


main()
