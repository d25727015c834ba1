from pathlib import Path

import torch
import torch.nn as nn
from torchmetrics.classification import BinaryAUROC

from criteo import CriteoDay, DLRM


def run_day(model: nn.Module, opt, day: CriteoDay, train: bool, metric: BinaryAUROC) -> float:
    model.train(train)
    with torch.set_grad_enabled(train):
        for dense, sparse, label in day.batches(16384):
            dense, sparse, label = dense.cuda(), sparse.cuda(), label.cuda()
            logit = model(dense, sparse).squeeze(1)
            if train:
                loss = nn.functional.binary_cross_entropy_with_logits(logit, label.float())
                opt.zero_grad()
                loss.backward()
                opt.step()
            metric.update(logit.detach().sigmoid(), label)
    return metric.compute().item()


def main() -> None:
    model = DLRM(emb_dim=128).cuda()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.02)
    auroc = BinaryAUROC().cuda()
    for d in range(23):
        print("day", d, "train", run_day(model, opt, CriteoDay(d), True, auroc))
        auroc.reset()
    print("day 23", run_day(model, opt, CriteoDay(23), False, auroc))
    torch.save(model.state_dict(), Path("dlrm.pt"))


if __name__ == "__main__":
    main()
