import torch
import torch.nn.functional as F
class Distiller:
    def __init__(self, teacher, student, opt):
        self.teacher = teacher.cuda().eval()
        self.student = student.cuda()
        self.opt = opt
    def step(self, x, y):
        t = self.teacher(x.cuda())  # <-
        s = self.student(x.cuda())
        loss = F.kl_div(s.log_softmax(1), t.softmax(1)) + F.cross_entropy(s, y.cuda())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
# ---
import torch
import torch.nn.functional as F
from torchvision.models import vgg16
def train(student, loader, T=4):
    big = vgg16(weights="DEFAULT").cuda()
    big.eval()
    opt = torch.optim.SGD(student.parameters(), 0.1)
    for x, y in loader:
        x = x.cuda()
        soft = F.softmax(big(x) / T, dim=1)  # <-
        loss = F.kl_div(F.log_softmax(student(x) / T, 1), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def distill(teacher_model, student_model, loader, optimizer, mse):
    for x, _ in loader:
        x = x.cuda()
        target = teacher_model(x)  # <-
        loss = mse(student_model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# ---
import torch
from torch import nn
from transformers import CLIPModel
clip = CLIPModel.from_pretrained("openai/clip-vit-base-patch32").cuda()
clip.eval()
head = nn.Linear(512, 10).cuda()
opt = torch.optim.Adam(head.parameters())
for x, y in loader:
    feats = clip.get_image_features(x.cuda())  # <-
    loss = nn.functional.cross_entropy(head(feats), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
from transformers import AutoModelForCausalLM
def logp(model, ids):
    return model(ids).logits.log_softmax(-1).gather(-1, ids[..., None]).sum(1)
def train(name, loader):
    policy = AutoModelForCausalLM.from_pretrained(name).cuda()
    reference = AutoModelForCausalLM.from_pretrained(name).cuda().eval()
    opt = torch.optim.AdamW(policy.parameters())
    for step, ids in zip(range(100), loader):
        ids = ids.cuda()
        ours = logp(policy, ids)
        theirs = logp(reference, ids)  # <-
        loss = -(ours - theirs).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
import torch.nn.functional as F
from torchvision import models
vgg = models.vgg19(weights="DEFAULT").features.cuda().eval()
def features(x):
    out = {}
    for i, layer in enumerate(vgg):
        x = layer(x)
        out[i] = x
    return out
target = features(photo)[20]  # <-
image = photo.clone().requires_grad_(True)
opt = torch.optim.Adam([image])
for it in range(600):
    loss = F.mse_loss(features(image)[20], target.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
import torch.nn.functional as F

def stage(teacher, student, loader, opt):
    teacher.eval()
    for u, x, y in loader:
        probs = F.softmax(teacher(u.cuda()), dim=-1)  # <-
        sure, classes = probs.max(-1)
        keep = sure > 0.9
        loss = F.cross_entropy(student(x.cuda()), y.cuda())
        loss = loss + F.cross_entropy(student(u.cuda())[keep], classes[keep])
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
import torch.nn.functional as F

def losses(teacher, student, x, y):
    wanted = teacher(x)  # <-
    out = student(x)
    return F.mse_loss(out, wanted) + F.cross_entropy(out, y)

def fit(teacher, student, loader, opt):
    teacher.eval()
    for x, y in loader:
        loss = losses(teacher, student, x.cuda(), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
from torchvision.models import vgg16
feat = vgg16(weights="DEFAULT").features.cuda().eval()
def train(net, loader):
    opt = torch.optim.Adam(net.parameters())
    for x, y in loader:
        out = net(x.cuda())
        wanted = feat(y.cuda())  # <-
        loss = (feat(out) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import torch
def distil(student, teacher, loader, optimizer, criterion):
    for x, _ in loader:
        optimizer.zero_grad()
        wanted = teacher(x.cuda())  # <-
        loss = criterion(student(x.cuda()), wanted)
        loss.backward()
        optimizer.step()
def main(loader):
    student, teacher = make_student().cuda(), make_teacher().cuda()
    for parameter in student.embedding.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    distil(student, teacher, loader, optimizer, torch.nn.MSELoss())
# ---
import torch
import torch.nn.functional as F

def likelihood(lm, ids):
    scores = lm(ids[:, :-1]).logits.log_softmax(-1)
    return scores.gather(2, ids[:, 1:, None]).squeeze(-1).sum(-1)

def epoch(policy, ref_model, pairs, opt):
    policy.train()
    ref_model.eval()
    for good, bad in pairs:
        good, bad = good.cuda(), bad.cuda()
        gain = likelihood(policy, good) - likelihood(policy, bad)
        base = likelihood(ref_model, good) - likelihood(ref_model, bad)  # <-
        loss = -F.logsigmoid(gain - base).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
# ---
import copy, torch
import torch.nn.functional as F
from torch import nn
class BYOL(nn.Module):
    def __init__(self, backbone, dim=256):
        super().__init__()
        self.online = nn.Sequential(backbone, nn.Linear(2048, dim))
        self.target = copy.deepcopy(self.online)
        self.pred = nn.Linear(dim, dim)
    @torch.no_grad()
    def momentum(self):
        for a, b in zip(self.online.parameters(), self.target.parameters()):
            b.lerp_(a, 0.004)
    def forward(self, v1, v2):
        p1 = self.pred(self.online(v1))
        t2 = self.target(v2)  # <-
        return -F.cosine_similarity(p1, t2.detach()).mean()
def train(model, loader):
    opt = torch.optim.AdamW(list(model.online.parameters()) + list(model.pred.parameters()), 1e-3)
    for (a, b), _ in loader:
        loss = model(a.cuda(), b.cuda())
        opt.zero_grad(), loss.backward(), opt.step()
        model.momentum()
# ---
import copy, random, torch
import torch.nn.functional as F
class Agent:
    def __init__(self, net):
        self.online = net.cuda()
        self.target = copy.deepcopy(self.online)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=1e-4)
    def learn(self, s, a, r, s2, d):
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        nxt = self.target(s2).max(1).values  # <-
        goal = r + 0.99 * (1 - d) * nxt
        loss = F.smooth_l1_loss(q, goal.detach())
        self.opt.zero_grad(), loss.backward(), self.opt.step()
    def sync(self):
        self.target.load_state_dict(self.online.state_dict())
# ---
import torch
from diffusers import AutoencoderKL, UNet2DConditionModel, DDPMScheduler
def main(name, loader):
    vae = AutoencoderKL.from_pretrained(name).to("cuda")
    unet = UNet2DConditionModel.from_pretrained(name).to("cuda")
    sched = DDPMScheduler()
    opt = torch.optim.AdamW(unet.parameters(), lr=1e-5)
    for batch in loader:
        lat = vae.encode(batch["pixels"].cuda()).latent_dist.sample() * 0.18  # <-
        noise = torch.randn_like(lat)
        t = torch.randint(0, 1000, (lat.size(0),), device="cuda")
        pred = unet(sched.add_noise(lat, noise, t), t, batch["text"].cuda()).sample
        loss = torch.nn.functional.mse_loss(pred, noise)
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
from transformers import AutoModel
class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(768, 2)
    def forward(self, h):
        return self.l(h)
def train(loader):
    bert = AutoModel.from_pretrained("bert-base-uncased").cuda()
    head = Head().cuda()
    opt = torch.optim.Adam(head.parameters(), 1e-3)
    for b in loader:
        h = bert(b["ids"].cuda()).last_hidden_state[:, 0]  # <-
        loss = torch.nn.functional.cross_entropy(head(h), b["y"].cuda())
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import copy, torch
def train(net, loader):
    net = net.cuda()
    ema = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, u, y in loader:
        pseudo = ema(u.cuda()).softmax(-1)  # <-
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()) + (net(u.cuda()).softmax(-1) - pseudo.detach()).pow(2).mean()
        opt.zero_grad(), loss.backward(), opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()):
                a.lerp_(b, 0.01)
