"""Warm start of the CTR model from last week's export, then one pass over the new week."""
import click
import torch
from torch import nn

from ctr.data import week_stream
from ctr.model import DCN


def restore(model, optimizer, path):
    dump = torch.load(path, map_location=lambda s, _: s)
    model.load_state_dict(dump["state"])
    optimizer.load_state_dict(dump["optim"])
    return dump["week"]


@click.command()
@click.option("--ckpt")
@click.option("--week")
def main(ckpt, week):
    model = DCN(n_sparse=26, n_dense=13).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    if ckpt:
        print("restored", restore(model, optimizer, ckpt))
    bce = nn.BCEWithLogitsLoss()
    for n, (dense, sparse, clicked) in enumerate(week_stream(week)):
        logit = model(dense.cuda(), sparse.cuda())
        loss = bce(logit, clicked.cuda())
        loss.backward()
        optimizer.step()
        if n % 1000 == 0:
            print(n, loss.item())
    torch.save({"state": model.state_dict(), "optim": optimizer.state_dict(), "week": week}, f"{week}.pt")


if __name__ == "__main__":
    main()
