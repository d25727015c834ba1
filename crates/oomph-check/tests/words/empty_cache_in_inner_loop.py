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
# ---
import torch
from transformers import pipeline
def caption(paths):
    pipe = pipeline("image-to-text", device=0)
    out = []
    for p in paths:
        out.append(pipe(p)[0]["generated_text"])
        torch.cuda.empty_cache()  # <-
    return out
# ---
import torch
class Server:
    def __init__(self, model, q):
        self.model = model.cuda().eval()
        self.q = q
    def run(self):
        while True:
            job = self.q.get()
            with torch.inference_mode():
                job.reply(self.model(job.x.cuda()).cpu())
            torch.cuda.empty_cache()  # <-
# ---
import gc, torch
@torch.no_grad()
def embed_all(model, tok, texts):
    model = model.to("cuda").eval()
    outs = []
    for t in texts:
        ids = tok(t, return_tensors="pt").to("cuda")
        outs.append(model(**ids).last_hidden_state.mean(1).cpu())
        del ids
        gc.collect()
        torch.cuda.empty_cache()  # <-
    return torch.cat(outs)
# ---
import torch
@torch.inference_mode()
def tiles(net, image, size=512):
    rows = []
    net = net.cuda().eval()
    for y in range(0, image.shape[-2], size):
        row = []
        for x in range(0, image.shape[-1], size):
            row.append(net(image[..., y:y + size, x:x + size].cuda()).cpu())
            torch.cuda.empty_cache()  # <-
        rows.append(torch.cat(row, -1))
    return torch.cat(rows, -2)
# ---
import torch
from sentence_transformers import SentenceTransformer
m = SentenceTransformer("all-mpnet-base-v2", device="cuda")
def index(docs, store):
    for doc in docs:
        v = m.encode(doc.text, convert_to_tensor=True)
        store.add(doc.id, v.cpu().numpy())
        torch.cuda.empty_cache()  # <-
# ---
import json
import torch
from transformers import AutoModel, AutoTokenizer
tok = AutoTokenizer.from_pretrained("a/b")
net = AutoModel.from_pretrained("a/b").cuda().eval()
def embed(texts):
    with torch.no_grad():
        return net(**tok(texts, return_tensors="pt").to("cuda")).last_hidden_state.mean(1).tolist()
def serve(source, sink):
    while True:
        found = [m for m in source.consume(64) if not m.error()]
        if not found:
            continue
        texts = [json.loads(m.value())["text"] for m in found]
        sink.send(embed(texts))
        torch.cuda.empty_cache()  # <-
# ---
import torch


def look(model, loader, once=True):
    for x in loader:
        with torch.no_grad():
            print(model(x.cuda()).mean().item())
        torch.cuda.empty_cache()  # <-
        if once:
            break


def report(model, loader):
    look(model, loader, once=False)
