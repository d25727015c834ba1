"""Loops at module level and in functions, in the spellings people use."""
from collections import defaultdict, deque

import torch as t
from torch import nn, optim
from torch.nn import functional as func
from torch.utils.data import DataLoader as DL
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("bert")
train = DL([1, 2, 3])
opt = optim.AdamW(model.parameters())

history = defaultdict(list)
recent = deque(maxlen=100)
losses = []
running_loss = 0
last = None
for step, batch in enumerate(tqdm(train)):
    batch = {k: v.to("cuda") for k, v in batch.items()}
    outputs = model(**batch)
    loss = outputs.loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    running_loss += loss.item()
    losses.append(loss)  # <- tensor-stored-in-container-with-graph
    history["loss"].append(outputs.loss)  # <- tensor-stored-in-container-with-graph
    history["value"].append(float(loss))
    recent.append(loss)
    last = loss
    t.cuda.empty_cache()  # <- empty-cache-in-inner-loop
    alias = loss
    running_loss = running_loss + alias  # <- loss-accumulated-with-graph

total, n = 0, 0
for batch in train:
    out = model(**batch)
    total += out.loss  # <- loss-accumulated-with-graph
    n += 1
print(total / n)

for epoch in range(3):
    epoch_loss = 0
    for batch in train:
        loss = model(**batch).loss
        (loss / 2).backward()
        epoch_loss += loss.detach()
    print(epoch_loss)

net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
criterion = nn.MSELoss()


def evaluate():
    net.eval()
    scores = []
    with t.inference_mode():
        for x, y in train:
            scores.append(net(x))
    return t.cat(scores)


def evaluate_by_switch():
    net.eval()
    t.set_grad_enabled(False)
    for x, y in train:
        print(net(x))
    t.set_grad_enabled(True)


def evaluate_wrong():
    net.eval()
    hits = 0
    for x, y in train:  # <- eval-loop-without-no-grad
        hits += (net(x).argmax(-1) == y).sum()
    return hits


def both(phase):
    net.train(phase == "train")
    total = 0
    for x, y in train:
        opt.zero_grad()
        with t.set_grad_enabled(phase == "train"):
            loss = criterion(net(x), y)
            if phase == "train":
                loss.backward()
                opt.step()
        total += loss.item()
    return total


def helper_loss(x, y):
    return func.mse_loss(net(x), y)


def step_on(loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


def through_helpers():
    total = 0
    kept = []
    for x, y in train:
        loss = helper_loss(x, y)
        step_on(loss)
        total += loss  # <- loss-accumulated-with-graph
        kept.append(loss.item())
    return total, kept


def summed():
    loss = 0
    for x, y in train:
        loss += helper_loss(x, y)  # <- losses-summed-then-one-backward
    loss.backward()


def collected():
    parts = []
    for x, y in train:
        parts.append(criterion(net(x), y))  # <- losses-summed-then-one-backward
    t.stack(parts).mean().backward()


def cats():
    everything = None
    with t.no_grad():
        for x, _ in train:
            out = net(x)
            if everything is None:
                everything = out
            else:
                everything = t.cat((everything, out), dim=0)  # <- cat-in-loop
    return everything


def accumulate(every):
    for i, (x, y) in enumerate(train):
        loss = criterion(net(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            opt.step()
        opt.zero_grad()  # <- zero-grad-inside-accumulation


def retry(x):
    try:
        return net(x)
    except RuntimeError as error:
        if "out of memory" in str(error):
            t.empty_cache()  # <- unknown-memory-api
            return net(x[:1])  # <- retry-inside-except
        raise
