import torch
from torch import nn
from nltk.translate.bleu_score import corpus_bleu


class Captioner(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, imgs, caps, lens):
        return self.decoder(self.encoder(imgs), caps, lens)


def score(captioner: Captioner, loader, vocab):
    captioner.train(False)
    refs, hyps = [], []
    for imgs, caps, lens in loader:
        scores = captioner(imgs.cuda(), caps.cuda(), lens)
        _, best = scores.max(dim=2)
        hyps += [[vocab[w] for w in row] for row in best.tolist()]
        refs += [[c] for c in caps.tolist()]
    return corpus_bleu(refs, hyps)
