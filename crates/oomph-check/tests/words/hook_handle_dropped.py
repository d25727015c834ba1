import torch
def cam(model, layer, x):
    kept = {}
    def note(m, i, o):
        kept["act"] = o
    layer.register_forward_hook(note)  # <-
    model(x).max().backward()
    return kept["act"].mean()
def main(model, paths, read):
    for path in paths:
        print(cam(model, model.layer4, read(path)))
# ---
from pathlib import Path
import torch
class Probe:
    def __init__(self, net):
        self.net = net
    def look(self, x):
        seen = []
        self.net.head.register_forward_pre_hook(lambda m, i: seen.append(i))  # <-
        self.net(x)
        return seen[-1]
def run(net, folder, read):
    probe = Probe(net)
    for file in Path(folder).glob("*.png"):
        probe.look(read(file))
# ---
import torch
def watch(net, x, shown):
    handle = net.fc.register_forward_hook(lambda m, i, o: shown.append(o.shape))  # <-
    return net(x)
def serve(net, queue):
    shown = []
    for request in queue:
        watch(net=net, x=request, shown=shown)
# ---
import torch
class Cam:
    def __init__(self, net, layer):
        self.net, self.layer = net, layer
    def __call__(self, x):
        self.layer.register_forward_hook(self.keep)  # <-
        return self.net(x).max()
    def keep(self, module, args, out):
        self.act = out.detach()
def main(net, images):
    cam = Cam(net, net.layer4)
    for image in images:
        print(cam(image[None].cuda()))
# ---
import torch
def serve(model, queue):
    while True:
        x = queue.get()
        acts = {}
        model.encoder.register_forward_hook(lambda m, i, o: acts.update(e=o))  # <-
        model(x.cuda())
# ---
import torch
class Explain:
    def __init__(self, net):
        self.net = net
    def keep(self, module, args, out):
        self.out = out.detach()
    def explain(self, x):
        self.net.last.register_forward_hook(self.keep)  # <-
        return self.net(x)
def main(net, images):
    explain = Explain(net)
    for image in images:
        explain.explain(image)
# ---
import torch
class Extract:
    def __init__(self, net, names):
        self.net, self.names = net.eval().cuda(), names
    def __call__(self, x):
        got = {}
        for n, m in self.net.named_modules():
            if n in self.names:
                m.register_forward_hook(lambda mod, i, o, n=n: got.__setitem__(n, o))  # <-
        self.net(x)
        return got
def optimise(ext, img, goal, opt):
    for k in range(500):
        f = ext(img)
        loss = sum((f[n] - goal[n]).pow(2).mean() for n in f)
        opt.zero_grad(), loss.backward(), opt.step()
# ---
import torch
def saliency(model, layer, x):
    acts = []
    layer.register_forward_hook(lambda m, i, o: acts.append(o))  # <-
    layer.register_full_backward_hook(lambda m, gi, go: acts.append(go[0]))  # <-
    model(x).max().backward()
    return acts
def main(model, loader):
    model.cuda().eval()
    for x, _ in loader:
        print(saliency(model, model.layer4, x.cuda())[0].mean().item())
# ---
import torch
def features(model, x):
    out = {}
    def grab(m, i, o):
        out["f"] = o.detach()
    model.avgpool.register_forward_hook(grab)  # <-
    with torch.no_grad():
        model(x)
    return out["f"]
def index(model, paths, read):
    model = model.cuda().eval()
    return [features(model, read(p).cuda()).cpu() for p in paths]
# ---
import torch
class Viz:
    def __init__(self, model):
        self.model = model.cuda().eval()
        self.handles = []
    def show(self, x):
        for m in self.model.modules():
            if isinstance(m, torch.nn.Conv2d):
                m.register_forward_hook(self.save)  # <-
        self.maps = []
        self.model(x)
        return self.maps
    def save(self, m, i, o):
        self.maps.append(o.cpu())
def main(model, loader):
    v = Viz(model)
    for x in loader:
        v.show(x.cuda())
# ---
import torch
def train(model, loader, opt, epochs):
    model.cuda()
    for ep in range(epochs):
        stats = {}
        for name, layer in model.named_modules():
            if isinstance(layer, torch.nn.ReLU):
                layer.register_forward_hook(lambda m, i, o, name=name: stats.update({name: o.mean().item()}))  # <-
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            opt.zero_grad(), loss.backward(), opt.step()
        print(stats)
# ---
import torch
from torchvision.models import vgg16
net = vgg16().cuda().eval()
def sizes(picture):
    found = {}
    for number, part in enumerate(net.features):
        part.register_forward_hook(lambda m, a, o, number=number: found.update({number: o.norm().item()}))  # <-
    with torch.no_grad():
        net(picture[None].cuda())
    return found
for index in range(0, 400, 10):
    print(sizes(data[index][0]))
