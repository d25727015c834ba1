import torch


def train_epoch(model, loader, optimizer, accumulate, device="cuda"):
    """Steps every `accumulate` batches and once more for what is left."""
    model.train()
    optimizer.zero_grad()
    total, last = 0.0, len(loader) - 1
    for i, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        loss = model(**batch).loss / accumulate
        loss.backward()
        total += loss.item() * accumulate
        if (i + 1) % accumulate == 0 or i == last:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return total / len(loader)


def train(model, loader, epochs, lr=2e-5, accumulate=16):
    model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        print(epoch, train_epoch(model, loader, optimizer, accumulate))
        model.save_pretrained(f"epoch{epoch}")
