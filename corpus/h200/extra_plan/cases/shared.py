"""What the jobs have in common: a training loop, batches, losses."""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"


def train(model, make_batch, loss_of, steps=4, opt=torch.optim.AdamW, amp=None, clip=None, lr=1e-4, **options):
    """Train for some steps; float16 autocast brings its scaler along."""
    model = model.to(device).train()
    optimizer = opt([p for p in model.parameters() if p.requires_grad], lr=lr, **options)
    scaler = torch.amp.GradScaler("cuda", enabled=amp is torch.float16)
    for _ in range(steps):
        batch = make_batch()
        with torch.autocast("cuda", dtype=amp or torch.float32, enabled=amp is not None):
            loss = loss_of(model, batch)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def images(batch, size=224, classes=10):
    return lambda: (torch.randn(batch, 3, size, size, device=device), torch.randint(0, classes, (batch,), device=device))


def classify(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def tokens(batch, length, vocab=16000):
    return lambda: torch.randint(5, vocab, (batch, length), device=device)


def lm(model, ids):
    return model(input_ids=ids, labels=ids).loss


def timm_model(name, **options):
    import timm

    return timm.create_model(name, num_classes=10, **options)
