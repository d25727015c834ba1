# --- bad
import torch
from torch import nn

netG, netD = nn.Linear(8, 8), nn.Linear(8, 1)
opt_g = torch.optim.Adam(netG.parameters())
opt_d = torch.optim.Adam(netD.parameters())
bce = nn.BCEWithLogitsLoss()
for real, _ in loader:
    fake = netG(torch.randn(real.size(0), 8))
    opt_d.zero_grad()
    d_loss = bce(netD(real), torch.ones(1)) + bce(netD(fake), torch.zeros(1))
    d_loss.backward(retain_graph=True)
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(netD(fake), torch.ones(1))
    g_loss.backward()
    opt_g.step()
# --- good
import torch
from torch import nn

netG, netD = nn.Linear(8, 8), nn.Linear(8, 1)
opt_g = torch.optim.Adam(netG.parameters())
opt_d = torch.optim.Adam(netD.parameters())
bce = nn.BCEWithLogitsLoss()
for real, _ in loader:
    fake = netG(torch.randn(real.size(0), 8))
    opt_d.zero_grad()
    d_loss = bce(netD(real), torch.ones(1)) + bce(netD(fake.detach()), torch.zeros(1))
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(netD(fake), torch.ones(1))
    g_loss.backward()
    opt_g.step()
# --- bad
import torch
from torch import nn

class GAN:
    def __init__(self):
        self.gen = nn.Linear(8, 8)
        self.disc = nn.Linear(8, 1)
        self.g_optim = torch.optim.Adam(self.gen.parameters())
        self.d_optim = torch.optim.Adam(self.disc.parameters())

    def fit(self, loader):
        for real, _ in loader:
            self.d_optim.zero_grad()
            loss = self.disc(self.gen(torch.randn(4, 8))).mean() - self.disc(real).mean()
            loss.backward()
            self.d_optim.step()
            self.g_optim.zero_grad()
            (-self.disc(self.gen(torch.randn(4, 8))).mean()).backward()
            self.g_optim.step()
# --- good
import torch
from torch import nn

class GAN:
    def __init__(self):
        self.gen = nn.Linear(8, 8)
        self.disc = nn.Linear(8, 1)
        self.g_optim = torch.optim.Adam(self.gen.parameters())
        self.d_optim = torch.optim.Adam(self.disc.parameters())

    def fit(self, loader):
        for real, _ in loader:
            self.d_optim.zero_grad()
            with torch.no_grad():
                fake = self.gen(torch.randn(4, 8))
            loss = self.disc(fake).mean() - self.disc(real).mean()
            loss.backward()
            self.d_optim.step()
            self.g_optim.zero_grad()
            (-self.disc(self.gen(torch.randn(4, 8))).mean()).backward()
            self.g_optim.step()
# --- silent
import torch
from torch import nn

netG, netD = nn.Linear(8, 8), nn.Linear(8, 1)
opt_g = torch.optim.Adam(netG.parameters())
opt_d = torch.optim.Adam(netD.parameters())
for real, _ in loader:
    judged = netD(netG(torch.randn(4, 8)))
    d_loss = judged.mean() - netD(real).mean()
    g_loss = -judged.mean()
    opt_d.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_d.step()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
# --- silent
import torch
from torch import nn

actor, critic = nn.Linear(8, 2), nn.Linear(2, 1)
actor_opt = torch.optim.Adam(actor.parameters())
critic_opt = torch.optim.Adam(critic.parameters())
for obs, target in loader:
    actor_opt.zero_grad()
    (-critic(actor(obs)).mean()).backward()
    actor_opt.step()
    critic_opt.zero_grad()
    (critic(actor(obs).detach()) - target).pow(2).mean().backward()
    critic_opt.step()
# --- silent
import torch
from torch import nn

enc, dec = nn.Linear(8, 4), nn.Linear(4, 8)
opt_enc = torch.optim.Adam(enc.parameters())
opt_dec = torch.optim.Adam(dec.parameters())
for x, _ in loader:
    opt_enc.zero_grad()
    opt_dec.zero_grad()
    loss = (dec(enc(x)) - x).pow(2).mean()
    loss.backward()
    opt_dec.step()
    opt_enc.step()
# --- silent
import torch
from torch import nn

enc, dec = nn.Linear(8, 4), nn.Linear(4, 8)
opt = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()))
for x, _ in loader:
    opt.zero_grad()
    loss = (dec(enc(x)) - x).pow(2).mean()
    loss.backward()
    opt.step()
# --- silent
import torch
from torch import nn

netG, netD = nn.Linear(8, 8), nn.Linear(8, 1)
opt_g = torch.optim.Adam(netG.parameters())
opt_d = torch.optim.Adam(netD.parameters())
for real, _ in loader:
    opt_g.zero_grad()
    g_loss = netD(netG(torch.randn(4, 8))).mean()
    g_loss.backward()
    opt_g.step()
