import torch
import torch.nn as nn

torch.backends.cudnn.benchmark = True


class AE(nn.Module):
    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = enc, dec

    def forward(self, x):
        return self.dec.forward(self.enc.forward(x))


def collate(seqs):
    return nn.utils.rnn.pad_sequence(seqs, batch_first=True)
