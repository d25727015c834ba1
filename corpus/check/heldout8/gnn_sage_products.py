import torch
import torch.nn.functional as F
from torch_geometric.loader import NeighborLoader
from tqdm import tqdm


def layerwise(model, x_all, loader, device):
    """Exact embeddings, one layer at a time."""
    model.eval()
    for i, conv in enumerate(model.convs):
        outs = []
        for b in tqdm(loader, desc=f"layer {i}"):
            h = conv(x_all[b.n_id].to(device), b.edge_index.to(device))[:b.batch_size]
            h = h.relu() if i < len(model.convs) - 1 else h
            outs.append(h.cpu())
        x_all = torch.cat(outs)
    return x_all


def train(model, data, idx, opt, device, batch=1024):
    loader = NeighborLoader(data, [15, 10, 5], input_nodes=idx, batch_size=batch, shuffle=True)
    model.train()
    for b in loader:
        b = b.to(device)
        opt.zero_grad()
        loss = F.cross_entropy(model(b.x, b.edge_index)[:b.batch_size], b.y[:b.batch_size].squeeze())
        loss.backward()
        opt.step()
        del loss, b
        torch.cuda.empty_cache()
