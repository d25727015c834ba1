"""CTC recipe, wav2vec-like encoder, LibriSpeech 960h."""
import argparse
import logging
import math

import torch
import torch.nn.functional as F

from recipe.data import bucketed_loader
from recipe.model import ConformerCTC
from recipe.tokens import WordPieces

log = logging.getLogger("ctc")


def greedy(model, loader, pieces):
    model.eval()
    hyps, refs, nll = [], [], 0.0
    for utt in loader:
        feats, lens = utt.feats.cuda(), utt.lens.cuda()
        logp, out_lens = model(feats, lens)
        nll += F.ctc_loss(logp.transpose(0, 1), utt.tokens.cuda(), out_lens, utt.token_lens, reduction="sum")
        best = logp.argmax(-1).cpu()
        hyps += [pieces.collapse(b[:n]) for b, n in zip(best, out_lens)]
        refs += utt.text
    return pieces.wer(hyps, refs), nll.item() / len(refs)


def train(args):
    model = ConformerCTC(args.layers, args.dim).cuda()
    opt = torch.optim.Adam(model.parameters(), args.lr, betas=(0.9, 0.98))
    pieces = WordPieces(args.bpe)
    train_dl, dev_dl = bucketed_loader(args.train, 1200), bucketed_loader(args.dev, 2400)
    step = 0
    for epoch in range(args.epochs):
        model.train()
        for utt in train_dl:
            try:
                logp, n = model(utt.feats.cuda(), utt.lens.cuda())
                loss = F.ctc_loss(logp.transpose(0, 1), utt.tokens.cuda(), n, utt.token_lens)
                opt.zero_grad()
                loss.backward()
                opt.step()
            except Exception:
                log.warning("skipping batch of %d frames", utt.feats.size(1))
                continue
            step += 1
            for g in opt.param_groups:
                g["lr"] = args.lr * min(step / args.warmup, math.sqrt(args.warmup / step))
        wer, nll = greedy(model, dev_dl, pieces)
        log.info("epoch %d wer %.2f nll %.3f", epoch, wer, nll)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    for flag, kind, default in (("layers", int, 17), ("dim", int, 512), ("epochs", int, 40), ("warmup", int, 10000)):
        ap.add_argument("--" + flag, type=kind, default=default)
    ap.add_argument("--lr", type=float, default=1e-3)
    for flag in ("train", "dev", "bpe"):
        ap.add_argument("--" + flag, required=True)
    train(ap.parse_args())
