import torch
class M:
    def optimize(self, x, y):
        pred = self.net(x.to(self.device))
        loss = self.crit(pred, y.to(self.device))
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)  # <-
        self.optimizer.step()
# ---
import torch
def train(net, loader, opt, crit):
    scaler = torch.amp.GradScaler()
    for x, y in loader:
        loss = crit(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward(retain_graph=True)  # <-
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
# ---
import torch
def train(net, loader, opt, crit, accelerator):
    for batch in loader:
        loss = net(**batch).loss
        accelerator.backward(loss, retain_graph=True)  # <-
        opt.step()
        opt.zero_grad()
# ---
import torch
def train(net, loader, opt, crit):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x.cuda()), y.cuda())
        loss.backward(None, True)  # <-
        opt.step()
# ---
import torch
import torch.nn.functional as F
def documents(model, texts, opt):
    for ids in texts:
        opt.zero_grad()
        for part in ids.cuda().split(512, dim=1):
            loss = F.cross_entropy(model(part[:, :-1]).transpose(1, 2), part[:, 1:])
            loss.backward(retain_graph=True)  # <-
        opt.step()
# ---
import torch
class Cam:
    def __init__(self, model, layer):
        self.model = model
        layer.register_forward_hook(self.keep)
    def keep(self, module, args, out):
        self.act = out
    def __call__(self, x):
        scores = self.model(x)
        scores.max().backward(retain_graph=True)  # <-
        return self.act.mean(1).detach().cpu()
# ---
import torch
def heat(model, layer, x):
    kept = {}
    def note(m, i, o):
        kept["act"] = o
    layer.register_forward_hook(note)
    scores = model(x)
    scores[0, 0].backward(retain_graph=True)  # <-
    return kept["act"].mean(1).detach().cpu()
# ---
import torch
def train(model, data, opt, cost):
    for epoch in range(10):
        for i in range(0, len(data), 32):
            loss = cost(model(data[i:i + 32].cuda()))
            opt.zero_grad()
            loss.backward(retain_graph=True)  # <-
            opt.step()
# ---
import torch
class Agent:
    def learn(self, states, actions, rewards):
        q = self.net(states).gather(1, actions)
        loss = (q - rewards).pow(2).mean()
        self.opt.zero_grad()
        loss.backward(retain_graph=True)  # <-
        self.opt.step()
# ---
import torch
from parts import Critic, Voice
class Train:
    def __init__(self):
        self.voice, self.critic = Voice().cuda(), Critic().cuda()
        self.first = torch.optim.Adam(self.critic.parameters())
        self.second = torch.optim.Adam(self.voice.parameters())
    def judge(self, real, fake):
        return self.critic(fake).mean() - self.critic(real).mean()
    def learn(self, mel, wave):
        fake = self.voice(mel)
        self.first.zero_grad()
        loss = self.judge(wave, fake)
        loss.backward(retain_graph=True)  # <-
        self.first.step()
        self.second.zero_grad()
        other = -self.critic(self.voice(mel)).mean()
        other.backward()
        self.second.step()
    def run(self, loader):
        for mel, wave in loader:
            self.learn(mel.cuda(), wave.cuda())
