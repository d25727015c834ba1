"""Leaf embeddings of a boosted forest, refined by a small net; accumulate to an effective batch of 65k."""
import torch
from torch import nn


def train(model, loader, epochs, accum=16, lr=1e-3, device="cuda"):
    model.to(device)
    opt = torch.optim.Adam(model.parameters(), lr)
    bce = nn.BCEWithLogitsLoss()
    micro = 0
    for epoch in range(epochs):
        for leaf_ids, label in loader:
            opt.zero_grad()
            out = model(leaf_ids.to(device))
            loss = bce(out.squeeze(1), label.to(device).float()) / accum
            loss.backward()
            micro += 1
            if micro == accum:
                opt.step()
                micro = 0
        print(f"{epoch}: {loss.item() * accum:.5f}")


def embed_all(model, loader, device="cuda"):
    model.to(device)
    out = []
    with torch.inference_mode():
        for leaf_ids, _ in loader:
            out.append(model.embed(leaf_ids.to(device)))  # (rows, 512)
    return torch.cat(out).cpu().numpy()
