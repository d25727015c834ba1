"""Nightly retraining job on the cluster, launched by airflow."""
import argparse
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size:128,garbage_collection_threshold:0.8"

import torch

from nightly.data import clicks
from nightly.model import CTR


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--day", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--batch", type=int, default=8192)
    a = ap.parse_args()

    torch.cuda.memory._record_memory_history()
    net = CTR().cuda()
    opt = torch.optim.Adagrad(net.parameters(), 0.01)
    lossf = torch.nn.BCEWithLogitsLoss()
    seen, total = 0, 0.0
    for x, y in clicks(a.day, a.batch):
        loss = lossf(net(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
        seen += len(y)
    print(f"{a.day}: {seen} rows, loss {total / seen:.5f}")
    torch.cuda.memory._dump_snapshot(os.path.join(a.out, "mem.pickle"))
    torch.save(net.state_dict(), os.path.join(a.out, "ctr.pt"))


if __name__ == "__main__":
    main()
