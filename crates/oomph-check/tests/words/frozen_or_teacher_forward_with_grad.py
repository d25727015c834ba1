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
