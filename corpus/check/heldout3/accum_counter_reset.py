"""Speech translation; one update every --update-freq batches."""
import argparse

import torch
from torch.nn import functional as F

from st import MustC, Translator


def run_epoch(model, loader, opt, freq, device="cuda"):
    model.train()
    opt.zero_grad(set_to_none=True)
    pending = 0
    tokens = 0
    nll = 0.0
    for feats, lens, text in loader:
        feats, text = feats.to(device), text.to(device)
        logits = model(feats, lens, text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten(), ignore_index=1)
        (loss / freq).backward()
        n = (text[:, 1:] != 1).sum().item()
        nll += loss.item() * n
        tokens += n
        pending += 1
        if pending == freq:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            pending = 0
    return nll / tokens


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--update-freq", type=int, default=8)
    p.add_argument("--epochs", type=int, default=40)
    args = p.parse_args()
    model = Translator().cuda()
    opt = torch.optim.Adam(model.parameters(), lr=2e-4)
    loader = MustC("en-de", "train").loader(batch_size=8)
    for epoch in range(args.epochs):
        print(epoch, run_epoch(model, loader, opt, args.update_freq))
        torch.save(model.state_dict(), "st_last.pt")


if __name__ == "__main__":
    main()
