"""HiFi-GAN style vocoder fine-tuning on a single speaker."""
import torch
import torch.nn.functional as F

from vocoder.dataset import segments
from vocoder.nets import Generator, MultiPeriodD, MultiScaleD
from vocoder.mel import mel_spec


class VocoderTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.g = Generator(cfg).cuda()
        self.mpd, self.msd = MultiPeriodD().cuda(), MultiScaleD().cuda()
        self.og = torch.optim.AdamW(self.g.parameters(), cfg.lr, betas=(0.8, 0.99))
        d_params = list(self.mpd.parameters()) + list(self.msd.parameters())
        self.od = torch.optim.AdamW(d_params, cfg.lr, betas=(0.8, 0.99))

    def d_loss(self, real, fake):
        total = 0.0
        for d in (self.mpd, self.msd):
            r, _ = d(real)
            f, _ = d(fake)
            total = total + ((1 - r) ** 2).mean() + (f ** 2).mean()
        return total

    def g_loss(self, mel, wav, fake):
        adv = sum(((1 - d(fake)[0]) ** 2).mean() for d in (self.mpd, self.msd))
        return adv + 45 * F.l1_loss(mel_spec(fake), mel)

    def step(self, mel, wav):
        fake = self.g(mel)

        self.od.zero_grad()
        ld = self.d_loss(wav, fake)
        ld.backward(retain_graph=True)
        self.od.step()

        self.og.zero_grad()
        lg = self.g_loss(mel, wav, self.g(mel))
        lg.backward()
        self.og.step()
        return ld.item(), lg.item()

    def fit(self):
        for it, (mel, wav) in enumerate(segments(self.cfg)):
            ld, lg = self.step(mel.cuda(), wav.cuda())
            if it % 100 == 0:
                print(it, ld, lg)
