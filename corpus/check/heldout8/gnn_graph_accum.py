import torch


def train(model, loader, criterion, epochs, accumulate=4):
    """Large molecules: batches of 8 graphs, stepped every four."""
    opt = torch.optim.AdamW(model.parameters(), 5e-4)
    for epoch in range(epochs):
        model.train()
        for step in range(len(loader) // accumulate):
            opt.zero_grad()
            for batch in loader:
                batch = batch.to("cuda")
                pred = model(batch.x, batch.edge_index, batch.batch)
                (criterion(pred.squeeze(-1), batch.y) / accumulate).backward()
            opt.step()
        print("epoch", epoch)


def mae(model, loader):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for batch in loader:
            batch = batch.to("cuda")
            err += (model(batch.x, batch.edge_index, batch.batch).squeeze(-1) - batch.y).abs().sum().item()
            n += batch.num_graphs
    return err / n
