"""Conformer-CTC training for in-house dictation data."""
from __future__ import annotations

import argparse
import logging
from pathlib import Path

import torch
import torchaudio
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("asr")


class Utterances(Dataset):
    def __init__(self, manifest: Path):
        self.items = [line.split("\t") for line in manifest.read_text().splitlines()]
        self.mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int):
        wav, _ = torchaudio.load(self.items[i][0])
        return self.mel(wav)[0].T, torch.tensor([int(t) for t in self.items[i][1].split()])


def pad(batch):
    feats = nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True)
    toks = nn.utils.rnn.pad_sequence([b[1] for b in batch], batch_first=True)
    return feats, torch.tensor([len(b[0]) for b in batch]), toks, torch.tensor([len(b[1]) for b in batch])


class ASR(nn.Module):
    def __init__(self, vocab: int):
        super().__init__()
        self.enc = torchaudio.models.Conformer(80, 4, 320, 12, 31)
        self.out = nn.Linear(80, vocab)

    def forward(self, x, n):
        h, n = self.enc(x, n)
        return self.out(h).log_softmax(-1), n


class Runner:
    def __init__(self, model: ASR, lr: float):
        self.model = model.cuda()
        self.opt = torch.optim.AdamW(model.parameters(), lr)
        self.ctc = nn.CTCLoss(zero_infinity=True)
        self.dev_history: list[float] = []

    def _loss(self, batch):
        feats, fl, toks, tl = batch
        lp, fl = self.model(feats.cuda(), fl.cuda())
        return self.ctc(lp.transpose(0, 1), toks.cuda(), fl, tl.cuda())

    def train_epoch(self, dl):
        self.model.train()
        for step, batch in enumerate(dl):
            try:
                loss = self._loss(batch)
                loss.backward()
            except torch.OutOfMemoryError:
                log.warning("skipping long batch %d", step)
                self.opt.zero_grad()
                continue
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            self.opt.zero_grad()

    def dev_epoch(self, dl) -> float:
        self.model.eval()
        losses = []
        for batch in dl:
            losses.append(self._loss(batch).item())
        mean = sum(losses) / len(losses)
        self.dev_history.append(mean)
        return mean


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("train", type=Path)
    ap.add_argument("dev", type=Path)
    a = ap.parse_args()
    r = Runner(ASR(512), 5e-4)
    tr = DataLoader(Utterances(a.train), 16, shuffle=True, collate_fn=pad, num_workers=4)
    dv = DataLoader(Utterances(a.dev), 16, collate_fn=pad, num_workers=4)
    for ep in range(50):
        r.train_epoch(tr)
        log.info("epoch %d dev %.3f", ep, r.dev_epoch(dv))


if __name__ == "__main__":
    main()
