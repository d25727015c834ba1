import torch
class Gan:
    def train_batch(self, real):
        z = torch.randn(real.size(0), 100).cuda()
        fake = self.G(z)
        self.optim_D.zero_grad()
        d = self.crit(self.D(real.cuda()), 1) + self.crit(self.D(fake), 0)
        d.backward()  # <-
        self.optim_D.step()
        self.optim_G.zero_grad()
        g = self.crit(self.D(self.G(z)), 1)
        g.backward()
        self.optim_G.step()
# ---
import torch
def train(generator, discriminator, g_opt, d_opt, loader, bce):
    for real in loader:
        real = real.cuda()
        noise = torch.randn(len(real), 64).cuda()
        loss_d = bce(discriminator(real), torch.ones(len(real))) + bce(discriminator(generator(noise)), torch.zeros(len(real)))
        d_opt.zero_grad()
        loss_d.backward()  # <-
        d_opt.step()
        loss_g = bce(discriminator(generator(noise)), torch.ones(len(real)))
        g_opt.zero_grad()
        loss_g.backward()
        g_opt.step()
# ---
import torch
import torch.nn as nn
netG = Generator().cuda()
netD = Discriminator().cuda()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4)
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4)
criterion = nn.BCELoss()
for data, _ in dataloader:
    netD.zero_grad()
    out = netD(data.cuda())
    errD_real = criterion(out, torch.ones(8).cuda())
    errD_real.backward()
    fake = netG(torch.randn(8, 100).cuda())
    out = netD(fake)
    errD_fake = criterion(out, torch.zeros(8).cuda())
    errD_fake.backward(retain_graph=True)  # <-
    optimizerD.step()
    netG.zero_grad()
    out = netD(fake)
    errG = criterion(out, torch.ones(8).cuda())
    errG.backward()
    optimizerG.step()
# ---
import torch
def train(gen, disc, loader, z):
    opt_g = torch.optim.Adam(gen.parameters())
    opt_d = torch.optim.Adam(disc.parameters())
    for real in loader:
        fake = gen(z)
        opt_d.zero_grad()
        d_loss = disc(fake, detach=False).mean() - disc(real).mean()
        d_loss.backward()  # <-
        opt_d.step()
        opt_g.zero_grad()
        g_loss = -disc(gen(z)).mean()
        g_loss.backward()
        opt_g.step()
# ---
import torch
import torch.nn.functional as F
class Pair:
    def __init__(self, painter, judge):
        self.painter, self.judge = painter.cuda(), judge.cuda()
        self.opt_p = torch.optim.Adam(painter.parameters())
        self.opt_j = torch.optim.Adam(judge.parameters())
    @staticmethod
    def cost(score, real):
        return F.mse_loss(score, torch.full_like(score, float(real)))
    def judge_step(self, z, real):
        drawn = self.painter(z)
        loss = self.cost(self.judge(real), 1) + self.cost(self.judge(drawn), 0)
        self.opt_j.zero_grad()
        loss.backward()  # <-
        self.opt_j.step()
    def painter_step(self, z):
        loss = self.cost(self.judge(self.painter(z)), 1)
        self.opt_p.zero_grad()
        loss.backward()
        self.opt_p.step()
# ---
import torch
class Gan:
    def __init__(self, netG, netD):
        self.netG = netG
        self.netD = netD
        self.optG = torch.optim.Adam(self.netG.parameters())
        self.optD = torch.optim.Adam(self.netD.parameters())
    def update_d(self, z, real):
        self.optD.zero_grad()
        loss = self.netD(self.netG(z)).mean() - self.netD(real).mean()
        loss.backward()  # <-
        self.optD.step()
    def update_g(self, z):
        self.netG.zero_grad()
        (-self.netD(self.netG(z)).mean()).backward()
        self.optG.step()
# ---
import torch
def d_step(G, D, opt_d, x, z):
    loss = D(G(z)).relu().mean() + (1 - D(x)).relu().mean()
    opt_d.zero_grad()
    loss.backward()  # <-
    opt_d.step()
def g_step(G, D, opt_g, z):
    loss = -D(G(z)).mean()
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
def train(G, D, loader):
    opt_g = torch.optim.Adam(G.parameters())
    opt_d = torch.optim.Adam(D.parameters())
    for x in loader:
        z = torch.randn(len(x), 64, device="cuda")
        d_step(G, D, opt_d, x.cuda(), z)
        g_step(G, D, opt_g, z)
# ---
import torch
from torch import nn
import torch.nn.functional as F

G = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 784)).cuda()
D = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()
g_opt = torch.optim.Adam(G.parameters())
d_opt = torch.optim.Adam(D.parameters())

def judge(real):
    made = G(torch.randn(len(real), 16, device="cuda"))
    loss = F.softplus(-D(real)).mean() + F.softplus(D(made)).mean()
    d_opt.zero_grad()
    loss.backward()  # <-
    d_opt.step()

def forge(count):
    loss = F.softplus(-D(G(torch.randn(count, 16, device="cuda")))).mean()
    g_opt.zero_grad()
    loss.backward()
    g_opt.step()
# ---
import torch
import torch.nn.functional as F
from nets import Gen, Disc

class Trainer:
    def __init__(self):
        self.gen = Gen().cuda()
        self.disc = Disc().cuda()
        self.og = torch.optim.Adam(self.gen.parameters())
        self.od = torch.optim.Adam(self.disc.parameters())

    def train_disc(self, real, fake):
        loss = F.softplus(-self.disc(real)).mean() + F.softplus(self.disc(fake)).mean()
        self.od.zero_grad()
        loss.backward(retain_graph=True)  # <-
        self.od.step()

    def train_gen(self, fake):
        self.og.zero_grad()
        loss = F.softplus(-self.disc(fake)).mean()
        loss.backward()
        self.og.step()

    def fit(self, loader):
        for x, _ in loader:
            fake = self.gen(torch.randn(len(x), 16, device="cuda"))
            self.train_disc(x.cuda(), fake)
            self.train_gen(fake)
# ---
import torch
import torch.nn.functional as F
from nets import Gen, Wide, Deep

class Trainer:
    def __init__(self):
        self.gen = Gen().cuda()
        self.wide = Wide().cuda()
        self.deep = Deep().cuda()
        self.og = torch.optim.Adam(self.gen.parameters())
        self.od = torch.optim.Adam(list(self.wide.parameters()) + list(self.deep.parameters()))

    def judged(self, real, fake):
        return F.softplus(-self.wide(real)).mean() + F.softplus(self.wide(fake)).mean() + self.deep(fake).mean()

    def step(self, mel, wave):
        fake = self.gen(mel)
        self.od.zero_grad()
        loss = self.judged(wave, fake)
        loss.backward(retain_graph=True)  # <-
        self.od.step()
        self.og.zero_grad()
        F.softplus(-self.wide(fake)).mean().backward()
        self.og.step()
