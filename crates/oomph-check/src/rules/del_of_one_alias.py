# --- bad
import torch

def unload(model):
    del model
    torch.cuda.empty_cache()
# --- good
import torch

class Server:
    def unload(self):
        self.model = None
        torch.cuda.empty_cache()
# --- bad
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.Adam(model.parameters())
fit(model, optimizer)
del model
torch.cuda.empty_cache()
# --- good
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.Adam(model.parameters())
fit(model, optimizer)
del model, optimizer
torch.cuda.empty_cache()
# --- bad
import torch

def features(net, loader):
    kept = []
    with torch.no_grad():
        for x, _ in loader:
            out = net(x.cuda())
            kept.append(out)
            del out
    return torch.cat(kept)
# --- good
import torch

def features(net, loader):
    kept = []
    with torch.no_grad():
        for x, _ in loader:
            out = net(x.cuda())
            kept.append(out.cpu())
            del out
    return torch.cat(kept)
# --- bad
import torch

def score(net, x):
    out = net(x)
    mean = out.mean().item()
    del out
    return mean
# --- good
import torch

def score(net, x):
    return net(x).mean().item()
# --- bad
import torch

def run(net, x):
    hidden = net(x)
    state = hidden
    del hidden
    torch.cuda.empty_cache()
    return net(state)
# --- good
import torch

def run(net, x):
    state = net(x)
    return net(state)
# --- silent
import torch

def load(make, vae):
    sliced = make()
    sliced.load_state_dict(vae.state_dict())
    vae = sliced
    del sliced
    vae.eval()
    return vae
# --- silent
import torch

def run(conv, parts):
    for i in range(len(parts)):
        x = parts[i]
        parts[i] = None
        x = conv(x.cuda()).cpu()
        parts[i] = x
        del x
    return torch.cat(parts)
# --- silent
import torch

class Runner:
    def step(self, x):
        out = self.net(x)
        self.last = out
        self.report(self.last)
        self.last = None
        del out
        torch.cuda.empty_cache()
        return self.net(x)
# --- silent
import torch

def step(net, loader):
    for batch in loader:
        inputs = batch['x']
        del batch
        net(inputs).sum().backward()
# --- silent
import torch

def step(net, x):
    hidden = net(x)
    out = hidden * 2
    del hidden
    torch.cuda.empty_cache()
    return net(out)
# --- silent
import torch

def free(names, scope):
    for name in names:
        del scope[name]
    torch.cuda.empty_cache()
# --- silent
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.Adam(model.parameters())
fit(model, optimizer)
del optimizer
del model
torch.cuda.empty_cache()
# --- silent
import torch

def load(path, model):
    state = torch.load(path)
    model.load_state_dict(state)
    del state
    torch.cuda.empty_cache()
    return model
# --- silent
import torch

def convert(weights):
    out = {}
    for name in list(weights):
        value = weights.pop(name)
        out[name] = value.half()
        del value
    return out
# --- silent
import torch

def consume(x, net):
    y = net(x)
    del x
    return net(y)
