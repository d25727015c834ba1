# --- bad
import torch
from torchvision.models import resnet50

def classify(image):
    model = resnet50(weights='DEFAULT')
    model.eval()
    logits = model(image.unsqueeze(0))
    return logits.argmax(1).item()
# --- good
import torch
from torchvision.models import resnet50

def classify(image):
    model = resnet50(weights='DEFAULT')
    model.eval()
    with torch.inference_mode():
        logits = model(image.unsqueeze(0))
    return logits.argmax(1).item()
# --- bad
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained('bert-base-cased').eval()
for text in texts:
    inputs = tokenizer(text, return_tensors='pt')
    print(model(**inputs).logits.softmax(-1).tolist())
# --- good
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained('bert-base-cased').eval()
with torch.no_grad():
    for text in texts:
        inputs = tokenizer(text, return_tensors='pt')
        print(model(**inputs).logits.softmax(-1).tolist())
# --- silent
import torch
from torch import nn

class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(0.5), nn.Linear(100, 1))

    def forward(self, x):
        return self.layers(x)

x = torch.ones(100)
net = Dropped()
net.eval()
y = net(x)
print(y)
# --- silent
import torch
from torchviz import make_dot

def draw(model, x):
    model.eval()
    out = model(x)
    make_dot(out, params=dict(model.named_parameters())).render('graph')
# --- silent
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self, scale: float = 1.0):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale

def try_it():
    scaled = Scaled()
    scaled.eval()
    out = scaled(torch.randn(2, 3))
    print(out.shape)
# --- silent
import torch
from torchvision.models import resnet50

def saliency(image):
    model = resnet50().eval()
    image.requires_grad_()
    model(image).max().backward()
    return image.grad
# --- silent
import torch
from torchvision.models import resnet50

def features(image):
    model = resnet50().eval()
    return model(image)
# --- silent
import torch
from torchvision.models import resnet50

torch.set_grad_enabled(False)
model = resnet50().eval()
print(model(torch.randn(1, 3, 224, 224)).argmax())
# --- silent
import torch
from torchvision.models import resnet50

model = resnet50().eval()
model.requires_grad_(False)
print(model(torch.randn(1, 3, 224, 224)).argmax())
# --- silent
import torch
from torchvision.models import resnet50

def test_shape():
    model = resnet50().eval()
    assert model(torch.randn(1, 3, 224, 224)).shape == (1, 1000)
