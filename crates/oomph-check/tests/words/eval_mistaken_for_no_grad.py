import torch
from transformers import AutoModel, AutoTokenizer
tok = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModel.from_pretrained("bert-base-uncased").to("cuda").eval()
def embed(text):
    batch = tok(text, return_tensors="pt").to("cuda")
    out = model(**batch)  # <-
    return out.last_hidden_state.mean(1)[0].tolist()
# ---
import torch
class Detector:
    def __init__(self, path, device="cuda"):
        self.device = device
        self.net = torch.load(path, map_location=device)
        self.net.eval()
    def detect(self, img):
        x = torch.from_numpy(img).permute(2, 0, 1)[None].float().to(self.device)
        out = self.net(x)  # <-
        scores, idx = out.softmax(1).max(1)
        return idx.item(), scores.item()
# ---
import torch
def predict_image(net, image):
    net.eval()
    logits = net(image.unsqueeze(0).cuda())  # <-
    return int(logits.argmax())
# ---
import torch
from torch import nn
class Pix2Pix(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 3, 3))
    def forward(self, data, mode):
        return self.net(data)
def show(image):
    model = Pix2Pix()
    model.eval()
    print(model(image, mode="inference").cpu().mean())  # <-
# ---
import torch
def check(model, x, y, loss_func):
    model.eval()
    out = model(x.cuda())  # <-
    return loss_func(out, y).item()
def run(model, x, y, loss_func):
    print(check(model, x, y, loss_func))
# ---
import torch

class Planner:
    def __init__(self, world):
        self.world = world.cuda()
        self.world.eval()

    def follow(self, z, plans):
        worth = torch.zeros(64, device="cuda")
        for t in range(20):
            z = self.world.step(z, plans[:, t])
            worth = worth + self.world.reward(z)
        return worth

    def plan(self, obs):
        start = self.world.encode(obs.cuda())  # <-
        plans = torch.randn(64, 20, device="cuda")
        return plans[self.follow(start, plans).argmax()].cpu().numpy()
# ---
import torch
from nets import Encoder, tokens

PARTS = {}

def start():
    PARTS["net"] = Encoder.restore("net.pt").to("cuda").eval()

def answer(texts):
    net = PARTS["net"]
    batch = {key: value.to("cuda") for key, value in tokens(texts).items()}
    vectors = net(**batch)  # <-
    return vectors.detach().cpu().tolist()
# ---
import torch
from monai.inferers import sliding_window_inference

class Predictor:
    def __init__(self, net):
        self.net = net.cuda()

    def whole(self, volume):
        self.net.eval()
        out = sliding_window_inference(volume.cuda(), (96, 96, 96), 4, self.net)  # <-
        return out.argmax(1).cpu()
# ---
import torch
from transformers import AutoModel, AutoTokenizer

parts = {}

def start():
    parts["tok"] = AutoTokenizer.from_pretrained("small")
    parts["net"] = AutoModel.from_pretrained("small").to("cuda").eval()

def embed(texts):
    batch = parts["tok"](texts, return_tensors="pt").to("cuda")
    hidden = parts["net"](**batch).last_hidden_state  # <-
    return hidden.mean(1).cpu().tolist()
# ---
import torch
from nets import Encoder

net = None

def the_net():
    global net
    if net is None:
        net = Encoder.restore("net.pt").cuda().eval()
    return net

def embed(values):
    out = the_net()(torch.tensor(values).cuda())  # <-
    return out.cpu().tolist()
