"""Control flow of all kinds."""
import torch
from torch import nn
from torch.utils.data import DataLoader

net = nn.Linear(3, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader([])


def guarded():
    total = 0
    for batch in loader:
        try:
            loss = criterion(net(batch), batch)
        except ValueError:
            continue
        finally:
            print("done")
        if loss is None:
            continue
        total += loss  # <- loss-accumulated-with-graph
    print(total)


def matched(kind):
    losses = []
    for batch in loader:
        match kind:
            case "a":
                loss = criterion(net(batch), batch)
            case _:
                loss = net(batch).mean()
        losses.append(loss)  # <- tensor-stored-in-container-with-graph
    print(losses)


def walrus():
    losses = []
    it = iter(loader)
    while (batch := next(it, None)) is not None:
        optimizer.zero_grad()
        (loss := criterion(net(batch), batch)).backward()
        optimizer.step()
        losses.append(loss)  # <- tensor-stored-in-container-with-graph


def one_of_two(flag):
    outs = []
    for batch in loader:
        out = net(batch)
        if flag:
            out = out.detach()
        else:
            out = out.data
        outs.append(out)


def closure():
    total = 0

    def run(batch):
        nonlocal total
        loss = criterion(net(batch), batch)
        loss.backward()
        return loss.item()

    for batch in loader:
        total += run(batch)
    return total


def comprehension_under_no_grad():
    with torch.no_grad():
        outs = [net(batch) for batch in loader]
    return torch.cat(outs)


def shadowed(torch):
    torch.empty_cache()


def deleted():
    total = 0
    for batch in loader:
        loss = criterion(net(batch), batch)
        loss.backward()
        del loss
        loss = 0.0
        total += loss


def cleared():
    window = []
    for i, batch in enumerate(loader):
        window.append(net(batch))
        if i % 10 == 0:
            torch.stack(window).sum().backward()
            window.clear()


def tuple_stored():
    rows = []
    for i, batch in enumerate(loader):
        out = net(batch)
        rows.append((i, out))  # <- tensor-stored-in-container-with-graph
        rows.append({"i": i, "n": len(batch)})
    print(rows)


def reused_name():
    loss = 0
    for batch in loader:
        loss = criterion(net(batch), batch)
        loss.backward()
        loss = loss.item()
        print(loss)


def frozen():
    features = []
    for p in net.parameters():
        p.requires_grad = False
    for batch in loader:
        features.append(net(batch))
    return features


async def asynchronous():
    kept = []
    async for batch in loader:
        kept.append(net(batch))  # <- tensor-stored-in-container-with-graph


def by_key(names):
    results = {}
    last = {}
    for i, batch in enumerate(loader):
        results[i] = net(batch)  # <- tensor-stored-in-container-with-graph
        last["out"] = net(batch)
    return results.keys(), last.keys()


def added_lists():
    outs, more = [], []
    for batch in loader:
        outs += [net(batch)]  # <- tensor-stored-in-container-with-graph
        more.extend([net(batch)])  # <- tensor-stored-in-container-with-graph
    print(outs, more)


def evaluate_inner():
    net.eval()
    for batch in loader:
        print(net(batch))


def evaluate_outer():
    evaluate_inner()


def evaluate_top():
    with torch.no_grad():
        evaluate_outer()


def back_propagated_one_by_one(other):
    losses = []
    for batch in loader:
        other.zero_grad()
        (other(batch)).sum().backward()
        losses.append(criterion(net(batch), batch))
    for loss in losses:
        loss.backward()
