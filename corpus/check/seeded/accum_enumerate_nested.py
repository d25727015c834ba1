import torch
from tqdm import tqdm


def run(net, dl, optim, loss_fn, n_accum, epochs):
    for epoch in range(epochs):
        micro = 0
        while micro < n_accum:
            for idx, (a, b) in enumerate(tqdm(dl)):
                l = loss_fn(net(a.cuda()), b.cuda())
                l.div(n_accum).backward()
            micro += 1
        optim.step()
        optim.zero_grad(set_to_none=True)
