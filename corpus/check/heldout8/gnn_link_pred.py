import torch
import torch.nn.functional as F


def all_pairs_hits(z_src, z_dst, truth, k=50):
    with torch.no_grad():
        d = (z_src.unsqueeze(1) - z_dst.unsqueeze(0)).norm(dim=-1)
        top = d.topk(k, largest=False).indices
    return (top == truth[:, None]).any(1).float().mean().item()


def train_link(model, graph, epochs, neg_sampler):
    for epoch in range(epochs):
        opt = torch.optim.Adam(model.parameters(), lr=1e-3)
        model.train()
        for pos in graph.edge_batches(8192):
            neg = neg_sampler(pos)
            z = model(graph.x, graph.edge_index)
            score = lambda e: (z[e[0]] * z[e[1]]).sum(-1)
            loss = F.softplus(-score(pos)).mean() + F.softplus(score(neg)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            z = model(graph.x, graph.edge_index)
        print(epoch, all_pairs_hits(z[graph.val[0]], z, graph.val[1]))
