import torch
class Extractor:
    def __init__(self, net):
        self.net = net.cuda().eval()
    def loss(self, x, y):
        return (self.net(x) - self.net(y)).pow(2).mean()
# ---
import torch
class Service:
    def __init__(self, net):
        self.net = net.cuda().eval()
    def predict(self, x):
        with torch.inference_mode():
            return self._run(x)
    def _run(self, x):
        return self.net(x.cuda()).argmax(1).tolist()
# ---
import torch
def validate(model, loader, crit):
    model.eval()
    tot = 0
    for x, y in loader:
        with torch.no_grad():
            loss = crit(model(x.cuda()), y.cuda())
        tot += loss
    return tot
# ---
import torch

def tries(make, loader, rates, flip):
    for rate in rates:
        model = make()
        for layer in model.modules():
            layer.register_forward_hook(flip(rate))
        with torch.no_grad():
            for x, y in loader:
                print((model(x).argmax(1) == y).sum().item())
# ---
import torch
from torch.autograd import Variable
def test(model, loader, criterion):
    model.eval()
    total = 0
    for x, y in loader:
        x, y = Variable(x.cuda(), volatile=True), Variable(y.cuda(), volatile=True)
        total += criterion(model(x), y)
    return total
# ---
import torch
from torch.autograd import Variable
def wrap(x, test=False):
    return Variable(x.cuda(), volatile=test)
def evaluate(model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(wrap(x, True)).data.max(1)[1].cpu() == y).sum()
    return right
# ---
import torch

def reconstruct(model, cfg, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            draw(model(x.cuda()).cpu())
            if cfg.REDUCE_GPU_MEM:
                torch.cuda.empty_cache()
# ---
import torch
def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    for support_x, support_y, query_x, query_y in loader:
        inner = criterion(model(support_x.cuda()), support_y.cuda())
        params = gradient_update_parameters(model, inner, step_size=0.4)
        total += criterion(model(query_x.cuda(), params=params), query_y.cuda()).item()
    return total
# ---
import torch
class Runner:
    def __init__(self, model, evaluation, loader):
        self.model, self.evaluation, self.loader = model, evaluation, loader
    def eval(self):
        for x, y in self.loader:
            with torch.no_grad():
                pred = self.model(x.cuda())
            print(self.evaluation(pred, y.cuda())[0].item())
# ---
import torch
class Model:
    def __init__(self, net):
        self.net = net
    def run(self, x, prevent_grads=True):
        self.net.eval()
        if prevent_grads:
            with torch.no_grad():
                self.out = self.net(x)
        else:
            self.out = self.net(x)
    def validate(self, loader):
        for x, y in loader:
            self.run(x.cuda())
            print(self.out.argmax(1).cpu())
# ---
import torch
from torch import nn
class Pix2Pix(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 3, 3))
    def forward(self, data, mode):
        if mode == "generator":
            return self.net(data)
        with torch.no_grad():
            return self.net(data)
def show(image):
    model = Pix2Pix()
    model.eval()
    print(model(image, mode="inference").cpu().mean())
# ---
import torch
from torchvision.models import resnet18, resnet50
def compare(image):
    model = resnet18()
    model.eval()
    with torch.no_grad():
        print(model(image).argmax(1))
    model = resnet50()
    print(model(image).argmax(1))
# ---
import torch

VALID = False


def main(loader):
    model = torch.nn.Linear(8, 2).cuda()
    model.eval()
    if VALID:
        for x, y in loader:
            print((model(x.cuda()).argmax(1).cpu() == y).sum())
# ---
import numpy as np
import torch


class Sums(torch.nn.Module):
    def __init__(self, length):
        super().__init__()
        weights = torch.tensor(np.ones((1, length))).to("cuda")
        self.sum = torch.nn.Linear(length, 1).cuda()
        with torch.no_grad():
            self.sum.weight.copy_(weights)
# ---
import torch
from features import chroma, onsets
fns = [chroma, onsets]
def compare(loader):
    kept = []
    for audio, rate in loader:
        parts = [afn(audio.cuda(), rate) for afn in fns]
        kept.append(torch.cat(parts, dim=1))
    return torch.stack(kept)
# ---
import torch
from medcam import medcam
def attend(net, loader):
    net.eval()
    for x, _ in loader:
        net(x.cuda())
def main(model, loader):
    model = medcam.inject(model, backend="gcam")
    attend(model, loader)
# ---
import torch
from framework import Evaluator
def check(model, x, y, loss_func):
    model.eval()
    out = model(x.cuda())
    return loss_func(out, y).item()
def extensions(model, loader, loss_func):
    return Evaluator(loader, model, eval_func=lambda x, y: check(model, x, y, loss_func))
# ---
import torch
from parts import make
model = make("run")
for name, parameter in model.named_parameters():
    parameter.required_grad = False
for x in range(10):
    with torch.no_grad():
        sample = model.generate(x)
# ---
import torch
from torchvision.models import resnet50

PAGES = {}

def remember(net, kind, frame):
    with torch.no_grad():
        PAGES[kind] = net(torch.from_numpy(frame).cuda())

def main(camera):
    net = resnet50(weights="DEFAULT").cuda().eval()
    for kind in ("front", "back"):
        remember(net, kind, camera.take(kind))
# ---
import torch
from torchmetrics.classification import BinaryAUROC
auroc = BinaryAUROC()
def judge(model, loader):
    with torch.no_grad():
        for x, y in loader:
            auroc.update(model(x.cuda()).flatten(), y.cuda())
    return auroc.compute()
# ---
import torch
from lightly.models.utils import deactivate_requires_grad


def features(build, loader, device):
    model = build()
    model.to(device)
    deactivate_requires_grad(model)
    backbone = model.backbone
    backbone.eval()
    kept = []
    for x, _ in loader:
        kept.append(backbone(x.to(device)))
    return torch.cat(kept)
# ---
import torch
from torch import nn


def set_requires_grad(nets, requires_grad=False):
    for net in nets:
        for param in net.parameters():
            param.requires_grad = requires_grad


def evaluate(loader):
    model = nn.Linear(8, 8)
    set_requires_grad([model], False)
    model.eval()
    total = 0
    for x, y in loader:
        total += nn.functional.cross_entropy(model(x), y)
    return total


class Judge:
    def __init__(self, net):
        self.net = net
        freeze_params(self.net)

    def evaluate(self, loader):
        self.net.eval()
        for x, y in loader:
            print(self.net(x.cuda()).argmax(1))
# ---
import torch
from torch import nn


class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(1, 1, 3, bias=False)
        self.conv = nn.Conv2d(1, 1, 3)
        self.filter.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            edges = nn.functional.conv2d(x, self.filter.weight)
        return self.conv(x) * edges


def clip(net, threshold):
    for layer in net.main:
        layer.weight.requires_grad_ = False
        layer.weight.data.clamp_(-threshold, threshold)
        layer.weight.requires_grad_ = True
# ---
import torch


def run(model, loader, device):
    torch.no_grad()
    model.to(device)
    model.eval()
    with torch.no_grad():
        for x in loader:
            print(model(x.to(device)).argmax(1))
# ---
import torch


def inside(charts, marginal):
    return torch.autograd.grad(charts.sum(), [charts])[0]


if __name__ == "__main__":
    torch.autograd.set_detect_anomaly(True)
    charts = torch.randn(2, 8, requires_grad=True)
    print(inside(charts, True))
# ---
import numpy as np
import torch


def embeddings(model, loader):
    kept = []

    def keep(module, args, output):
        output = output.detach().numpy()
        kept.append(output)

    model.fc1.register_forward_hook(keep)
    with torch.no_grad():
        for x, y in loader:
            model(x.float())
    return np.concatenate(kept, axis=0)
# ---
import torch
from library import Tagger
def scores(model, lines):
    total = 0.0
    for line in lines:
        total += model(line.to("cuda")).max().item()
    return total
def main(lines):
    model = Tagger().to("cuda")
    model.eval()
    with torch.no_grad():
        print(scores(model, lines))
# ---
import torch
class Meters:
    def __init__(self):
        self.kept = {}
    def update(self, **values):
        for name, value in values.items():
            self.kept.setdefault(name, []).append(float(value))
def evaluate(model, loader, criterion):
    model.eval()
    log = Meters()
    with torch.no_grad():
        for x, y in loader:
            log.update(loss=criterion(model(x.cuda()), y.cuda()))
    return log
# ---
import torch
def decode(model, tokens, steps):
    out = tokens
    for step in range(steps):
        with torch.no_grad():
            tokens = model(tokens.cuda()).argmax(-1)
        out = torch.cat([out, tokens])
    return out
# ---
import torch
def calibrate_and_count(model, loader):
    model.eval()
    torch.quantization.prepare(model, inplace=True)
    torch.quantization.convert(model, inplace=True)
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
    return right
# ---
import torch
from torchvision.models import resnet18
def count_small(loader):
    model = resnet18()
    small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    small.eval()
    right = 0
    for x, y in loader:
        right += (small(x).argmax(1) == y).sum().item()
    return right
# ---
import torch
def load_model(path):
    model = Net()
    model.load_state_dict(torch.load(path, map_location="cpu"))
    for parameter in model.parameters():
        parameter.requires_grad = False
    return model, None
class Embedding:
    def __init__(self, path):
        self.model, self.names = load_model(path)
def rank(kge, triples, size):
    kge.model.eval()
    ranks = []
    for i in range(0, len(triples), size):
        scores = kge.model(torch.LongTensor(triples[i:i + size]))
        ranks.append(scores.argmax(1).tolist())
    return ranks
# ---
import torch
def make_val_step(model, loss_fn):
    def step(x, y):
        model.eval()
        guess = model(x)
        loss = loss_fn(guess, y)
        return loss.item()
    return step
# ---
import torch
from slidenets.zoo import pathology_encoder
def embed(loader):
    encoder = pathology_encoder("base").cuda()
    encoder.eval()
    found = []
    for patches, _ in loader:
        found.append(encoder(patches.cuda()).mean(1).tolist())
    return found
# ---
import torch
from slidenets.zoo import pathology_encoder
def count(encoder, loader):
    encoder.eval()
    right = 0
    for patches, label in loader:
        right += (encoder(patches.cuda()).argmax(1) == label).sum().item()
    return right
print(count(pathology_encoder("base").cuda(), loader))
# ---
import torch
from slidenets.zoo import pathology_encoder
class Viewer:
    def __init__(self):
        self.net, self.names = pathology_encoder("base")
        self.net.eval()
    def name_of(self, patch):
        return self.names[self.net(patch.cuda()).argmax(1).item()]
# ---
import torch
from torchvision.models import resnet18
class Held:
    def __init__(self):
        self.net = resnet18().cuda()
    def hold(self):
        for parameter in self.net.parameters():
            parameter.requires_grad = False
    def score(self, loader):
        self.hold()
        self.net.eval()
        right = 0
        for x, y in loader:
            right += (self.net(x.cuda()).argmax(1) == y.cuda()).sum().item()
        return right
# ---
import torch
def pictures(pipe, editor, loader):
    kept = {}
    editor.eval()
    for step, (prompt, label) in enumerate(loader):
        picture = editor(prompt)
        picture.save(f"{step}.png")
        kept[step] = (picture, label)
    return len(kept)
# ---
import torch
def one_epoch(model, loader, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        if model.training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
def run(model, one_epoch_of, loaders, criterion, optimizer):
    model.train()
    one_epoch_of(model, loaders[0], criterion, optimizer)
    with torch.no_grad():
        model.eval()
        one_epoch_of(model, loaders[1], criterion, optimizer)
# ---
import torch
def hold(net):
    for parameter in net.body.parameters():
        parameter.requires_grad = False
def describe(loader, path):
    saved = torch.load(path, map_location="cuda")
    encoder = saved["encoder"]
    encoder.eval()
    for x, _ in loader:
        print(encoder(x.cuda()).argmax(1).tolist())
# ---
import sys
import torch
sys.path.insert(0, "/software/slides")
from encoders import get_encoder
encoder = get_encoder("base.pth").cuda()
encoder.eval()
for patches, _ in loader:
    print(encoder(patches.cuda()).argmax(1).tolist())
# ---
import torch
from nets import Encoder

PARTS = {}

def start():
    PARTS["net"] = Encoder.restore("net.pt").to("cuda").eval()

@torch.inference_mode()
def answer(batch):
    return PARTS["net"](batch.to("cuda")).cpu().tolist()
# ---
import torch
from monai.inferers import sliding_window_inference

@torch.inference_mode()
def whole(net, volume):
    net.eval()
    out = sliding_window_inference(volume.cuda(), (96, 96, 96), 4, net)
    return out.argmax(1).cpu()
# ---
import torch
from nets import Net

def main(files):
    net = Net().cuda()
    state = torch.load("w.pt", map_location="cuda")
    net.load_state_dict(state["model"])
    del state
    net.eval()
    with torch.no_grad():
        for name in files:
            x = torch.load(name, map_location="cpu").cuda()
            torch.save(net(x).argmax(1).cpu(), name + ".out")
# ---
import torch
from torch import nn

class Boxes(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 5, 3))

    @classmethod
    def from_pretrained(cls, path):
        model = cls()
        model.load_state_dict(torch.load(path, map_location="cpu"))
        model.eval()
        return model

    def forward(self, images):
        return self.infer(images)

    @torch.no_grad()
    def infer(self, images):
        return self.body(images)

def show(image):
    boxes = Boxes.from_pretrained("boxes.pt").cuda()
    found = boxes(image.cuda())
    return found.argmax(1).cpu().tolist()
