# --- bad
import torch

def resume(model, path):
    model.cuda()
    model.load_state_dict(torch.load(path))
    return model
# --- good
import torch

def resume(model, path):
    model.cuda()
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return model
# --- bad
import torch
from torch.nn.parallel import DistributedDataParallel

def resume(model, optimizer, args):
    checkpoint = torch.load(args.resume)
    weights = checkpoint['model']
    model.load_state_dict(weights)
    optimizer.load_state_dict(checkpoint['optimizer'])
    model = DistributedDataParallel(model.to(args.local_rank))
    return model, checkpoint['epoch']
# --- good
import torch
from torch.nn.parallel import DistributedDataParallel

def resume(model, optimizer, args):
    checkpoint = torch.load(args.resume, map_location='cpu')
    model.load_state_dict(checkpoint['model'])
    optimizer.load_state_dict(checkpoint['optimizer'])
    model = DistributedDataParallel(model.to(args.local_rank))
    return model, checkpoint['epoch']
# --- bad
import torch

class Net(torch.nn.Module):
    def load(self, path):
        package = torch.load(str(path))
        self.load_state_dict(package['model'])
        return package['version']
# --- good
import torch

class Net(torch.nn.Module):
    def load(self, path):
        package = torch.load(str(path), map_location='cpu')
        self.load_state_dict(package['model'])
        return package['version']
# --- bad
import torch

def read(path):
    return torch.load(path)

def start(model, path):
    model.load_state_dict(read(path))
    return model.cuda()
# --- good
import torch

def read(path):
    return torch.load(path, map_location='cpu')

def start(model, path):
    model.load_state_dict(read(path))
    return model.cuda()
# --- silent
import torch
from tools import things_to

class Trainer:
    def save(self):
        sd = self.model.state_dict()
        sd = things_to(sd, 'cpu')
        torch.save(sd, self.path)

    def load(self):
        self.model.load_state_dict(torch.load(self.path))
        self.model.cuda()
# --- silent
import torch

class Master:
    def learn(self, steps):
        self.policy.cpu().share_memory()
        for step in range(steps):
            self.update()
            torch.save({'policy': self.policy.state_dict()}, f'{self.folder}/{step}.pkl')

    def restore(self, path):
        self.policy.load_state_dict(torch.load(path)['policy'])
        self.policy.cuda()
# --- silent
import torch
from torch2trt import TRTModule

def serve(path, x):
    engine = TRTModule()
    engine.load_state_dict(torch.load(path))
    return engine(x.cuda())
# --- silent
import os
import torch

class Trainer:
    def start(self, path):
        if os.path.exists(path):
            self.model.load_state_dict(torch.load(path)['full'])
        else:
            torch.save({'full': self.model.state_dict()}, path)

    def epoch(self, loader):
        for x in loader:
            self.model(x.cuda()).sum().backward()
# --- silent
import torch
from tools import EarlyStopping
from nets import Small

def adapt(task, steps, learner):
    learner.cuda()
    model = Small(8)
    stopping = EarlyStopping(path='temp.pt')
    for step in range(steps):
        stopping(model(task.query), model)
    model.load_state_dict(torch.load('temp.pt'))
    return learner(task.query)
# --- silent
import torch
from fetching import download_model

def infer(net, name, x):
    download_model(name)
    net.load_state_dict(torch.load(name))
    return net.cuda()(x.cuda())
# --- silent
import glob
import os
import torch

def evaluate_all(args, model):
    folders = [os.path.dirname(path) for path in glob.glob(args.output + '/**/model.bin')]
    for folder in folders:
        model.load_state_dict(torch.load(folder))
        evaluate(model.cuda())
# --- silent
import torch

def build(net):
    net.load_state_dict(torch.load('weights/resnet18-5c106cde.pth'))
    return net.cuda()
# --- silent
import torch

def save(net, path):
    state = net.state_dict()
    for key, param in state.items():
        state[key] = param.cpu()
    torch.save(state, path)

def load(net, path):
    net.cuda().load_state_dict(torch.load(path))
# --- silent
import torch

class Agent:
    def save(self, filename):
        self.prepare(device='cpu')
        torch.save({'actor': self.actor.state_dict()}, filename)

    def load(self, filename):
        self.actor.load_state_dict(torch.load(filename)['actor'])
        self.actor.cuda()
# --- silent
import torch
from torch import nn

class Vgg(nn.Module):
    def __init__(self, weights_path=None):
        super().__init__()
        self.body = nn.Linear(8, 8)
        if weights_path is not None:
            self.load_state_dict(torch.load(weights_path))
# --- silent
import torch

def stylise(vgg, decoder, args):
    vgg.load_state_dict(torch.load(args.weights))
    return vgg.cuda(), decoder.cuda()
# --- silent
import torch
from nets import AlexNet

def alexnet(pretrained=False):
    model = AlexNet().cuda()
    if pretrained:
        model.load_state_dict(torch.load('alexnet.pth.tar')['state_dict'])
    return model
# --- silent
import torch
from torch.utils import model_zoo

def build(net, path):
    net.cuda()
    state = model_zoo.load_url(path) if path.startswith('https') else torch.load(path)
    net.load_state_dict(state)
# --- silent
import torch

def main(net, loader):
    net.cuda()
    torch.save(net, 'best.pt')
    net = torch.load('best.pt')
    net.eval()
    with torch.no_grad():
        for x in loader:
            print(net(x.cuda()).argmax().item())
# --- silent
import torch

class Base:
    def save(self, net, path):
        torch.save(net.cpu().state_dict(), path)
        net.cuda()

    def load(self, net, path):
        net.load_state_dict(torch.load(path))
        net.cuda()
# --- silent
import torch

model.load_state_dict(torch.load('model.pt'))
print(model(torch.zeros(1, 8)))
# --- silent
import torch

features = torch.load('features.pt')
model.cuda()(features)
optimizer.load_state_dict(torch.load('optimizer.pt'))
# --- silent
import torch

model.load_state_dict(torch.load(args.pretrained_vgg))
model.cuda()
# --- silent
import io
import torch

buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
model.cuda().load_state_dict(torch.load(buffer))
# --- silent
import torch

def load(model, path, **options):
    model.cuda().load_state_dict(torch.load(path, **options))
# --- silent
import torch

if torch.cuda.is_available():
    state = torch.load('model.pt')
else:
    state = torch.load('model.pt', map_location='cpu')
model.load_state_dict(state)
