import torch

@torch.inference_mode()
def encode(net, texts, tokenizer, size=64):
    rows, start = [], 0
    while start < len(texts):
        batch = tokenizer(texts[start:start + size], return_tensors="pt").to("cuda")
        rows.append(net(**batch).logits.cpu())
        torch.cuda.empty_cache()  # <-
        start += size
    return rows
# ---
import torch

@torch.no_grad()
def score(model, images, size):
    out = []
    for i in range(0, len(images), size):
        out.append(model(images[i:i + size].cuda()).cpu())
        torch.cuda.empty_cache()  # <-
    return torch.cat(out)
# ---
import torch

def reconstruct(model, use_gpu, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            draw(model(x).cpu())
            if use_gpu:
                torch.cuda.empty_cache()  # <-
# ---
import torch


def main(model, optimizer, loader, args):
    for epoch in range(args.epochs):
        for x in loader:
            for part in x.chunk(4):
                model(part).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
            torch.cuda.empty_cache()  # <-
# ---
import torch
class Hook:
    def after_batch(self, run): ...
class Sweep(Hook):
    def after_batch(self, run):
        torch.cuda.empty_cache()  # <-
class Run:
    def go(self, loader):
        for x, y in loader:
            self.learn(x, y)
            for hook in self.hooks:
                hook.after_batch(self)
# ---
import torch


def measure(model, loader):
    for j, x in enumerate(loader):
        if j > 50:
            break
        with torch.no_grad():
            model(x.cuda())
        torch.cuda.empty_cache()  # <-
