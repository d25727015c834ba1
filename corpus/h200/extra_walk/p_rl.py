import torch
from torch import nn
policy = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)).cuda()
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
for update in range(30):
    states, actions, logps = [], [], []
    s = torch.randn(256, 64, device="cuda")
    with torch.no_grad():
        for t in range(50):
            d = torch.distributions.Categorical(logits=policy(s)); a = d.sample()
            states.append(s); actions.append(a); logps.append(d.log_prob(a))
            s = torch.randn(256, 64, device="cuda")
    S, A, L = torch.cat(states), torch.cat(actions), torch.cat(logps)
    for k in range(4):
        for idx in torch.randperm(S.size(0), device="cuda").chunk(5):
            ratio = (torch.distributions.Categorical(logits=policy(S[idx])).log_prob(A[idx]) - L[idx]).exp()
            opt.zero_grad(); (-ratio.mean()).backward(); opt.step()
