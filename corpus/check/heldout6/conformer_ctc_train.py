"""Train loop of the CTC branch; configuration comes from YAML."""
import logging

import torch
import yaml
from torch import nn

from asr.data import bucketed_loader
from asr.model import Conformer

log = logging.getLogger(__name__)


class AverageMeter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def add(self, value, n=1):
        self.total = self.total + value * n
        self.n += n

    @property
    def mean(self):
        return self.total / max(self.n, 1)


def validate(model, ctc, loader, device):
    meter = AverageMeter()
    with torch.no_grad():
        for feats, flen, toks, tlen in loader:
            logp, olen = model(feats.to(device), flen)
            meter.add(ctc(logp.transpose(0, 1), toks, olen, tlen), feats.size(0))
    return meter.mean.item()


def train(cfg, device="cuda"):
    model = Conformer(**cfg["model"]).to(device)
    ctc = nn.CTCLoss(zero_infinity=True)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    tr, va = bucketed_loader(cfg["train"]), bucketed_loader(cfg["dev"])
    for epoch in range(cfg["epochs"]):
        meter = AverageMeter()
        for feats, flen, toks, tlen in tr:
            logp, olen = model(feats.to(device), flen)
            loss = ctc(logp.transpose(0, 1), toks, olen, tlen)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            meter.add(loss, feats.size(0))
        log.info("epoch %d train %.3f dev %.3f", epoch, meter.mean, validate(model, ctc, va, device))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    train(yaml.safe_load(open("conf/ctc.yaml")))
