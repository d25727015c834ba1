import torch
import torch.nn.functional as F


def train(model, loader, optimizer):
    for batch in loader:
        batch = {k: v.cuda() for k, v in batch.items()}
        ids = batch["input_ids"]
        labels = batch["labels"]
        del batch
        logits = model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
