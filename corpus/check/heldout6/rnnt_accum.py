import argparse
import torch
import torchaudio


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--accum", type=int, default=6)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--lr", type=float, default=6e-4)
    return p.parse_args()


def rnnt_loss(model, batch):
    logits, il, tl = model(*[b.cuda() for b in batch])
    return torchaudio.functional.rnnt_loss(logits, batch[2].int().cuda(), il.int(), tl.int())


def main(model, loader):
    a = parse()
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.lr, total_steps=a.epochs * (len(loader) // a.accum))
    for epoch in range(a.epochs):
        model.train()
        pending = 0
        opt.zero_grad()
        for batch in loader:
            (rnnt_loss(model, batch) / a.accum).backward()
            pending += 1
            if pending == a.accum:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                opt.step()
                opt.zero_grad()
                sched.step()
                pending = 0
        torch.save(model.state_dict(), f"rnnt.{epoch}.pt")
