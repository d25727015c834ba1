import itertools

import torch
import torch.nn.functional as F


class Pix2Pix:
    def __init__(self, gen, disc, lr=2e-4, lam=100.0, device="cuda"):
        self.gen, self.disc = gen.to(device), disc.to(device)
        self.opt_g = torch.optim.Adam(gen.parameters(), lr, (0.5, 0.999))
        self.opt_d = torch.optim.Adam(disc.parameters(), lr, (0.5, 0.999))
        self.lam, self.device = lam, device

    @staticmethod
    def adv(score, real):
        target = torch.ones_like(score) if real else torch.zeros_like(score)
        return F.binary_cross_entropy_with_logits(score, target)

    def discriminator_step(self, a, b):
        translated = self.gen(a)
        on_real = self.disc(torch.cat((a, b), 1))
        on_fake = self.disc(torch.cat((a, translated), 1))
        loss = 0.5 * (self.adv(on_real, True) + self.adv(on_fake, False))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def generator_step(self, a, b):
        translated = self.gen(a)
        score = self.disc(torch.cat((a, translated), 1))
        loss = self.adv(score, True) + self.lam * F.l1_loss(translated, b)
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def fit(self, loader, steps):
        def stream():
            while True:
                yield from loader

        for step, (a, b) in enumerate(itertools.islice(stream(), steps)):
            a, b = a.to(self.device), b.to(self.device)
            d = self.discriminator_step(a, b)
            g = self.generator_step(a, b)
            if step % 100 == 0:
                print(f"{step} D {d:.3f} G {g:.3f}")
