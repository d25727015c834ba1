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
