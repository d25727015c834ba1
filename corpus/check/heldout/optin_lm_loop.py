import gc

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, vocab, steps):
    loader = DataLoader(dataset, batch_size=8)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    first_tokens = []
    for ids in loader:
        ids = ids.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.float().view(-1, vocab), ids[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
        opt.step()
        first_tokens.append(logits[:, 0].detach())
        gc.collect()
    return first_tokens
