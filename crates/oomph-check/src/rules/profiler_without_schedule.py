# --- bad
import torch
from torch.profiler import ProfilerActivity, profile

def run(model, train_loader):
    with profile(activities=[ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as prof:
        for x, y in train_loader:
            model(x.cuda()).sum().backward()
    prof.export_chrome_trace('trace.json')
# --- good
import torch
from torch.profiler import ProfilerActivity, profile, schedule

def run(model, train_loader):
    plan = schedule(wait=1, warmup=1, active=3)
    with profile(activities=[ProfilerActivity.CUDA], profile_memory=True, with_stack=True, schedule=plan) as prof:
        for x, y in train_loader:
            model(x.cuda()).sum().backward()
            prof.step()
    prof.export_chrome_trace('trace.json')
# --- bad
import torch

def run(model, loader):
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        for epoch in range(3):
            for x, y in loader:
                model(x).sum().backward()
    print(prof.key_averages().table())
# --- good
import torch

def run(model, loader):
    x, y = next(iter(loader))
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        model(x).sum().backward()
    print(prof.key_averages().table())
# --- silent
import torch

def run(model, loader):
    with torch.profiler.profile(profile_memory=True) as prof:
        for i, (x, y) in enumerate(loader):
            model(x).sum().backward()
            if i == 10:
                break
    print(prof.key_averages().table())
# --- silent
import torch

def run(model, x):
    with torch.profiler.profile(with_stack=True) as prof:
        for _ in range(10):
            model(x).sum().backward()
    print(prof.key_averages().table())
# --- silent
import torch

def run(model, loader, enabled):
    with torch.autograd.profiler.profile(enabled=enabled) as prof:
        for x, y in loader:
            model(x).sum().backward()
    print(prof.key_averages().table())
# --- silent
import itertools
import torch

def run(model, loader):
    with torch.profiler.profile(profile_memory=True) as prof:
        for x, y in itertools.islice(loader, 5):
            model(x).sum().backward()
    print(prof.key_averages().table())
