# --- bad
import torch

def run():
    model = build()
    model(torch.zeros(1, 8).cuda()).sum().backward()
    torch.cuda.empty_cache()
    del model
    return build_next()
# --- good
import torch

def run():
    model = build()
    model(torch.zeros(1, 8).cuda()).sum().backward()
    del model
    torch.cuda.empty_cache()
    return build_next()
# --- bad
import gc
import torch

model = torch.nn.Linear(4096, 4096).cuda()
run(model)
torch.cuda.empty_cache()
gc.collect()
del model
bigger = torch.nn.Linear(8192, 8192).cuda()
# --- good
import gc
import torch

model = torch.nn.Linear(4096, 4096).cuda()
run(model)
del model
gc.collect()
torch.cuda.empty_cache()
bigger = torch.nn.Linear(8192, 8192).cuda()
# --- silent
import gc
import torch

class Job:
    def encode_only(self):
        self.net.cpu()
        torch.cuda.empty_cache()
        del self.net
        gc.collect()
# --- silent
import torch

def swap(model):
    torch.cuda.empty_cache()
    del model
    torch.cuda.empty_cache()
# --- silent
import torch

def finish(path):
    torch.cuda.empty_cache()
    lines = open(path).read()
    del lines
# --- silent
import torch

for batch in batches:
    out = model(batch)
    torch.cuda.empty_cache()
    del out
