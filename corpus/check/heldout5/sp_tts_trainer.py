import itertools
import os

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter

from vocoder import Generator, MultiPeriodDisc, mel_spectrogram


class VocoderTrainer:
    def __init__(self, hp, loader):
        self.hp, self.loader = hp, loader
        self.G = Generator(hp).cuda()
        self.D = MultiPeriodDisc().cuda()
        self.og = torch.optim.AdamW(self.G.parameters(), hp["lr"], betas=(0.8, 0.99))
        self.od = torch.optim.AdamW(self.D.parameters(), hp["lr"], betas=(0.8, 0.99))
        self.sg = torch.optim.lr_scheduler.ExponentialLR(self.og, hp["decay"])
        self.tb = SummaryWriter(hp["logdir"])
        self.it = 0
        self.feature_losses = []

    def disc_step(self, wav, fake):
        real_logits, _ = self.D(wav)
        fake_logits, _ = self.D(fake)
        loss = sum((1 - r).pow(2).mean() + f.pow(2).mean() for r, f in zip(real_logits, fake_logits))
        self.od.zero_grad()
        loss.backward(retain_graph=True)
        self.od.step()
        return loss.item()

    def gen_step(self, wav, mel, fake):
        self.og.zero_grad()
        logits, ff = self.D(fake)
        with torch.no_grad():
            _, rf = self.D(wav)
        fm = sum(F.l1_loss(a, b) for a, b in zip(itertools.chain(*ff), itertools.chain(*rf)))
        loss = sum((1 - x).pow(2).mean() for x in logits) + 45 * F.l1_loss(mel_spectrogram(fake), mel) + 2 * fm
        loss.backward()
        self.og.step()
        self.feature_losses += [fm]
        return loss.item()

    def train(self, epochs):
        for ep in range(epochs):
            for wav, mel in self.loader:
                wav, mel = wav.cuda(), mel.cuda()
                fake = self.G(mel)
                d = self.disc_step(wav, fake)
                g = self.gen_step(wav, mel, fake)
                self.it += 1
                if self.it % 50 == 0:
                    self.tb.add_scalar("d", d, self.it)
                    self.tb.add_scalar("g", g, self.it)
            self.sg.step()
            torch.save({"g": self.G.state_dict(), "d": self.D.state_dict()}, os.path.join(self.hp["logdir"], "last.pt"))
