import torch


class AdversarialSR:
    def __init__(self, net, disc, opt_net, opt_disc, pixel, adv):
        self.net, self.disc = net, disc
        self.opt_net, self.opt_disc = opt_net, opt_disc
        self.pixel, self.adv = pixel, adv

    def disc_step(self, low, high):
        self.opt_disc.zero_grad()
        sr = self.net(low)
        real = self.disc(high)
        made = self.disc(sr)
        loss = self.adv(real, torch.ones_like(real)) + self.adv(made, torch.zeros_like(made))
        loss.backward()
        self.opt_disc.step()
        return loss.item()

    def net_step(self, low, high):
        self.opt_net.zero_grad()
        sr = self.net(low)
        score = self.disc(sr)
        loss = self.pixel(sr, high) + 1e-3 * self.adv(score, torch.ones_like(score))
        loss.backward()
        self.opt_net.step()
        return loss.item()
