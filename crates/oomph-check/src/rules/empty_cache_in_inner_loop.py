# --- bad
import torch

for x, y in train_loader:
    loss = step(x, y)
    torch.cuda.empty_cache()
# --- good
import torch

for x, y in train_loader:
    loss = step(x, y)
torch.cuda.empty_cache()
# --- bad
import torch
from transformers import TrainerCallback

class Tidy(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.empty_cache()
# --- good
import torch
from transformers import TrainerCallback

class Tidy(TrainerCallback):
    def on_evaluate(self, args, state, control, **kwargs):
        torch.cuda.empty_cache()
# --- bad
import gc
import torch

def tidy():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

def fit(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        tidy()
# --- good
import gc
import torch

def tidy():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

def fit(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    tidy()
# --- silent
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x

def largest(sizes, optimizer):
    for size in sizes:
        model = Net().to('cuda')
        loss = model(torch.randn(size, 8, device='cuda')).sum()
        loss.backward()
        optimizer.step()
        del model, loss
        torch.cuda.empty_cache()
# --- silent
import torch

def generate(unet, decoder, x):
    latents = unet(x)
    del x
    torch.cuda.empty_cache()
    image = decoder(latents)
    return image

for batch in loader:
    with torch.no_grad():
        save(generate(unet, decoder, batch.cuda()))
# --- silent
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

for fold in [1, 2, 3]:
    model = make(fold)
    train(model, loaders[fold], torch.optim.SGD(model.parameters(), lr=0.1))
    torch.cuda.empty_cache()
# --- silent
import torch

def try_one(make_model, x):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    optimizer.step()

for name, make_model in registry.items():
    try_one(make_model, x)
    torch.cuda.empty_cache()
# --- silent
import torch

for i, batch in enumerate(train_loader):
    if i % 500 == 0:
        torch.cuda.empty_cache()
# --- silent
import torch

for batch in train_loader:
    try:
        step(batch)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
