"""The same bugs, said another way."""
import gc

import torch
from torch import nn
from torch.cuda import empty_cache
from torch.utils.data import DataLoader

net = nn.LSTM(3, 3)
lin = nn.Linear(3, 3)
crit = nn.MSELoss()
loader = DataLoader([])
optimizer = torch.optim.Adam(lin.parameters())


def grows_by_addition():
    outs, rest = [], ()
    for x, _ in loader:
        outs = outs + [lin(x)]  # <- tensor-stored-in-container-with-graph
        rest = (*rest, lin(x))  # <- tensor-stored-in-container-with-graph
    print(outs, rest)


def grows_by_function():
    total = torch.zeros(1)
    sums = {"train": 0}
    for x, y in loader:
        loss = crit(lin(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = torch.add(total, loss)  # <- loss-accumulated-with-graph
        sums["train"] += loss  # <- loss-accumulated-with-graph
    print(total, sums)


def images(paths, read):
    lin.eval()
    found = []
    for path in paths:  # <- eval-loop-without-no-grad
        found.append(lin(read(path)).argmax().item())
    return found


def state_in_two_parts():
    h, c = torch.zeros(1), torch.zeros(1)
    for x, y in loader:
        out, (h, c) = net(x, (h, c))  # <- hidden-state-carried-across-batches
        crit(out, y).backward(retain_graph=True)


def accumulates(n):
    seen = 0
    for x, y in loader:
        lin.zero_grad()  # <- zero-grad-inside-accumulation
        (crit(lin(x), y) / n).backward()
        seen += 1
        if seen == accumulation_steps:
            optimizer.step()
            seen = 0


def cleans():
    for x, y in loader:
        one_step(x, y)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # <- empty-cache-in-inner-loop


def one_step(x, y):
    loss = crit(lin(x), y)
    loss.backward()
    optimizer.step()
    empty_cache()  # <- empty-cache-in-inner-loop
    return loss.item()


def halves(x):
    try:
        return lin(x)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.clear_cache()  # <- unknown-memory-api
        torch.cuda.memory_alocated()  # <- unknown-memory-api
        half = len(x) // 2
        return torch.cat([halves(x[:half]), halves(x[half:])])  # <- retry-inside-except


class Collector:
    def __init__(self):
        self.preds = torch.empty(0)

    @torch.no_grad()
    def run(self):
        best = None
        for x, _ in loader:
            self.preds = torch.cat((self.preds, lin(x)))  # <- cat-in-loop
            best = lin(x) if best is None else torch.cat([best, lin(x)])  # <- cat-in-loop


def in_a_list(parts):
    losses = [crit(lin(x), y) for x, y in parts]  # <- losses-summed-then-one-backward
    torch.stack(losses).mean().backward()


def several_heads(x, heads, y):
    feat = lin(x)
    loss = sum(crit(head(feat), y) for head in heads)
    loss.backward()


def nano(split, eval_iters):
    model = build_model(8)
    model.eval()
    losses = torch.zeros(eval_iters)
    for k in range(eval_iters):  # <- eval-loop-without-no-grad
        x, y = get_batch(split)
        logits, loss = model(x, y)
        losses[k] = loss.item()
    return losses.mean()


def by_phase(model, dataloaders, optimizer):
    for phase in ["train", "val"]:
        running = 0.0
        for inputs, labels in dataloaders[phase]:
            loss = bce(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss  # <- loss-accumulated-with-graph


def never_said(model, test_loader):
    outs = []
    for x, y in test_loader:
        outs.append(model(x))  # <- tensor-stored-in-container-with-graph
    print(len(outs))
