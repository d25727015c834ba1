import torch


def run_epoch(model, train_iter, optimizer, scheduler):
    """Segments follow each other, the memory of one feeds the next."""
    model.train()
    mems = tuple()
    total = 0.0
    for i, (data, target, seq_len) in enumerate(train_iter):
        optimizer.zero_grad()
        loss, *mems = model(data.cuda(), target.cuda(), *mems)
        loss = loss.float().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
        if i % 200 == 0:
            print(i, total / (i + 1))
