import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast

from hifigan import Generator, MPD, MSD, mel_spectrogram


def feature_loss(fr, fg):
    return sum(F.l1_loss(a.detach(), b) for dr, dg in zip(fr, fg) for a, b in zip(dr, dg))


class FineTuner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.g = Generator(cfg).cuda()
        self.ds = [MPD().cuda(), MSD().cuda()]
        self.opt_g = torch.optim.AdamW(self.g.parameters(), cfg["lr"])
        self.opt_d = torch.optim.AdamW([p for d in self.ds for p in d.parameters()], cfg["lr"])
        self.scaler = GradScaler()
        self.log = {"mel": 0.0, "n": 0}

    def step(self, mel, wav):
        with autocast():
            fake = self.g(mel)
            d_loss = 0
            for d in self.ds:
                r, _ = d(wav)
                f, _ = d(fake.detach())
                d_loss = d_loss + (1 - r).pow(2).mean() + f.pow(2).mean()
        self.opt_d.zero_grad()
        self.scaler.scale(d_loss).backward()
        self.scaler.step(self.opt_d)
        with autocast():
            mel_loss = F.l1_loss(mel_spectrogram(fake.squeeze(1)), mel)
            g_loss = 45 * mel_loss
            for d in self.ds:
                _, fr = d(wav)
                f, fg = d(fake)
                g_loss = g_loss + (1 - f).pow(2).mean() + 2 * feature_loss(fr, fg)
        self.opt_g.zero_grad()
        self.scaler.scale(g_loss).backward()
        self.scaler.step(self.opt_g)
        self.scaler.update()
        self.log["mel"] += mel_loss
        self.log["n"] += 1

    def report(self):
        print("mel", float(self.log["mel"]) / self.log["n"])
