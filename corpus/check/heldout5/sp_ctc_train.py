#!/usr/bin/env python
"""CTC acoustic model on log-mels. One A100 of the speech lab."""
import argparse
import time

import torch
import torchaudio
from torch.nn.utils.rnn import pad_sequence

from asr.data import Utterances
from asr.model import Conformer


def collate(batch):
    mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80).to("cuda:0")
    feats, toks = [], []
    for wav, ids in batch:
        feats.append(mel(wav.to("cuda:0")).transpose(0, 1))
        toks.append(ids)
    flen = torch.tensor([f.size(0) for f in feats])
    tlen = torch.tensor([t.size(0) for t in toks])
    return pad_sequence(feats, True), flen, pad_sequence(toks, True), tlen


def run(args):
    train = torch.utils.data.DataLoader(Utterances(args.manifest), args.batch, shuffle=True, num_workers=args.workers,
                                        collate_fn=collate)
    model = Conformer(80, 512, 17, 5000).cuda()
    opt = torch.optim.AdamW(model.parameters(), args.lr)
    ctc = torch.nn.CTCLoss(zero_infinity=True)
    for ep in range(args.epochs):
        t0, loss_acc = time.time(), 0.0
        for k, (x, xl, y, yl) in enumerate(train):
            opt.zero_grad()
            try:
                lp = model(x, xl.cuda()).log_softmax(-1).transpose(0, 1)
                loss = ctc(lp, y, xl // 4, yl)
                loss.backward()
            except torch.OutOfMemoryError:
                print("OOM, taking half of the batch", x.shape)
                half = x.size(0) // 2
                lp = model(x[:half], xl[:half].cuda()).log_softmax(-1).transpose(0, 1)
                loss = ctc(lp, y[:half], xl[:half] // 4, yl[:half])
                loss.backward()
            opt.step()
            loss_acc += loss.item()
        print(f"{ep} {loss_acc / (k + 1):.3f} {time.time() - t0:.0f}s")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--manifest", required=True)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--workers", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--epochs", type=int, default=50)
    run(ap.parse_args())
