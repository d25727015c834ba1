"""Training loop that skips batches which are too long."""
import gc
import sys

import torch
from torch import nn


def is_oom(err):
    text = str(err)
    return "out of memory" in text or "CUBLAS_STATUS_ALLOC_FAILED" in text


def train(model, loader, optimizer, criterion, device="cuda"):
    model.train()
    skipped = 0
    for i, (src, lengths, tgt) in enumerate(loader):
        try:
            optimizer.zero_grad()
            out = model(src.to(device), lengths)
            loss = criterion(out, tgt.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        except RuntimeError as err:
            if not is_oom(err):
                raise
            skipped += 1
            print(f"| WARNING: batch {i} ran out of memory, skipped", file=sys.stderr)
            for p in model.parameters():
                p.grad = None
            gc.collect()
            torch.cuda.empty_cache()
            continue
        if i % 50 == 0:
            print(i, loss.item(), "skipped", skipped)


def warmup_batch_size(model, make_batch, start=512):
    """The largest batch that can be run once."""
    size = start
    while True:
        try:
            model(make_batch(size)).sum().backward()
            return size
        except RuntimeError as e:
            if "CUDA out of memory." in str(e):
                size = size // 2
            else:
                raise
