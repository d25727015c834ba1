import torch
from torchvision.models import resnet50
def load(path):
    net = resnet50()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    return net.cuda()
def classify(net, image):
    scores = net(image[None].cuda())  # <-
    return scores.argmax(1).item()
net = load("net.pt")
print(classify(net, torch.rand(3, 224, 224)))
# ---
import torch
from flask import Flask, jsonify
from torchvision.models import densenet121
app = Flask(__name__)
model = densenet121(weights="DEFAULT")
model.eval()
@app.route("/predict", methods=["POST"])
def predict():
    scores = model(read_image())  # <-
    _, best = scores.max(1)
    return jsonify({"class": best.item()})
# ---
import torch
from gpt import GPT
model = GPT(12, 768)
model.eval()
model.to("cuda")
def write(ids, steps):
    for _ in range(steps):
        scores = model(ids[:, -1024:])  # <-
        ids = torch.cat([ids, torch.multinomial(scores[:, -1].softmax(-1), 1)], 1)
    return ids
# ---
import time
import timm
import torch
def speed(name, turns=50):
    net = timm.create_model(name).cuda()
    net.train(False)
    x = torch.randn(64, 3, 224, 224, device="cuda")
    start = time.time()
    for _ in range(turns):
        net(x)  # <-
    torch.cuda.synchronize()
    return turns / (time.time() - start)
