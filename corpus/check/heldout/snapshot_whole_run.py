import torch


def train(model, loader, opt, crit, epochs):
    torch.cuda.memory._record_memory_history()
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss = crit(model(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        torch.cuda.memory._dump_snapshot(f"mem_{epoch}.pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
