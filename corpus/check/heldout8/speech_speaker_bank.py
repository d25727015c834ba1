import torch
import torch.nn.functional as F
from torch import nn


class SpeakerEncoder(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        self.lstm = nn.LSTM(40, d, 3, batch_first=True)
        self.lin = nn.Linear(d, d)

    def forward(self, mel):
        _, (h, _) = self.lstm(mel)
        return F.normalize(self.lin(h[-1]), dim=1)


def enrol(encoder, utterances_by_speaker):
    """Mean d-vector of every speaker."""
    encoder.eval()
    bank = {}
    for spk, utts in utterances_by_speaker.items():
        vecs = [encoder(u.unsqueeze(0).cuda()) for u in utts]
        bank[spk] = torch.stack(vecs).mean(0)
    return bank


def eer(encoder, bank, trials):
    scores = []
    with torch.no_grad():
        for spk, utt, same in trials:
            scores.append((F.cosine_similarity(bank[spk], encoder(utt[None].cuda())).item(), same))
    scores.sort()
    return scores
