# --- bad
import torch
import torch.nn.functional as F

def distill(teacher, student, loader, optimizer):
    teacher.eval()
    student.train()
    for x, y in loader:
        t_logits = teacher(x)
        s_logits = student(x)
        loss = F.mse_loss(s_logits, t_logits) + F.cross_entropy(s_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- good
import torch
import torch.nn.functional as F

def distill(teacher, student, loader, optimizer):
    teacher.eval()
    student.train()
    for x, y in loader:
        with torch.no_grad():
            t_logits = teacher(x)
        s_logits = student(x)
        loss = F.mse_loss(s_logits, t_logits) + F.cross_entropy(s_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
# --- bad
import torch
from transformers import AutoModelForCausalLM

policy = AutoModelForCausalLM.from_pretrained('gpt2')
ref_model = AutoModelForCausalLM.from_pretrained('gpt2')
ref_model.eval()
optimizer = torch.optim.AdamW(policy.parameters())
for batch in loader:
    logits = policy(**batch).logits
    ref_logits = ref_model(**batch).logits
    loss = (logits.log_softmax(-1) - ref_logits.log_softmax(-1)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# --- good
import torch
from transformers import AutoModelForCausalLM

policy = AutoModelForCausalLM.from_pretrained('gpt2')
ref_model = AutoModelForCausalLM.from_pretrained('gpt2')
ref_model.eval()
optimizer = torch.optim.AdamW(policy.parameters())
for batch in loader:
    logits = policy(**batch).logits
    with torch.inference_mode():
        ref_logits = ref_model(**batch).logits
    loss = (logits.log_softmax(-1) - ref_logits.log_softmax(-1)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# --- bad
import torch
import lightning as L

class Distilled(L.LightningModule):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher = teacher.eval()
        self.student = student
        self.teacher_net = torch.hub.load('facebookresearch/dino:main', 'dino_vits16')
        self.teacher_net.eval()

    def training_step(self, batch, batch_idx):
        x, y = batch
        target = self.teacher_net(x)
        return torch.nn.functional.mse_loss(self.student(x), target)
# --- good
import torch
import lightning as L

class Distilled(L.LightningModule):
    def __init__(self, student):
        super().__init__()
        self.student = student
        self.teacher_net = torch.hub.load('facebookresearch/dino:main', 'dino_vits16')
        self.teacher_net.eval()

    def training_step(self, batch, batch_idx):
        x, y = batch
        with torch.no_grad():
            target = self.teacher_net(x)
        return torch.nn.functional.mse_loss(self.student(x), target)
# --- bad
import torch
from torch import nn
from torchvision.models import resnet50

backbone = resnet50(weights='DEFAULT')
backbone.eval()
head = nn.Linear(1000, 10)
optimizer = torch.optim.Adam(head.parameters())
for x, y in loader:
    features = backbone(x)
    loss = nn.functional.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# --- good
import torch
from torch import nn
from torchvision.models import resnet50

backbone = resnet50(weights='DEFAULT')
backbone.eval()
head = nn.Linear(1000, 10)
optimizer = torch.optim.Adam(head.parameters())
for x, y in loader:
    with torch.no_grad():
        features = backbone(x)
    loss = nn.functional.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# --- silent
import torch

def update(generator, optimizer, teacher, student, distance):
    x_pseudo = generator.generate(same_noise=True)[0]
    loss = -distance(student(x_pseudo), teacher(x_pseudo))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# --- silent
import torch
from torchvision.models import resnet18

model = resnet18()
model.eval()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
# --- silent
import torch

def distill(teacher, student, loader, optimizer):
    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    for x, y in loader:
        loss = (student(x) - teacher(x)).pow(2).mean()
        loss.backward()
        optimizer.step()
# --- silent
import torch

def mutual(teacher, student, loader):
    teacher.eval()
    optimizer = torch.optim.SGD(list(teacher.parameters()) + list(student.parameters()), 0.1)
    for x, y in loader:
        loss = (student(x) - teacher(x)).pow(2).mean()
        loss.backward()
        optimizer.step()
# --- silent
import torch

def perceptual(teacher, generator, loader, optimizer):
    teacher.eval()
    for z, y in loader:
        loss = (teacher(generator(z)) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
# --- silent
import torch

def distill(teacher, student, loader, optimizer):
    teacher.eval()
    for x, y in loader:
        target = teacher(x).detach()
        loss = (student(x) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
