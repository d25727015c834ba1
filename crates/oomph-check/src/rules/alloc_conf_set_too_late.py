# --- bad
import os
import torch

model = torch.nn.Linear(4096, 4096).cuda()
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
# --- good
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
import torch

model = torch.nn.Linear(4096, 4096).cuda()
# --- bad
import os
import torch

def step(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError:
        os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:128'
        torch.cuda.empty_cache()
# --- good
import torch

def step(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
# --- bad
import os
import torch

def main():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    print(torch.cuda.get_device_name(0))
    os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True')
    train(device)
# --- good
import os
import torch

def main():
    os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True')
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    print(torch.cuda.get_device_name(0))
    train(device)
# --- bad
import os
import torch
from diffusers import StableDiffusionXLPipeline

def main(prompt):
    pipeline = StableDiffusionXLPipeline.from_pretrained('sdxl', torch_dtype=torch.float16)
    pipeline.to('cuda')
    os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
    return pipeline(prompt)
# --- good
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
import torch
from diffusers import StableDiffusionXLPipeline

def main(prompt):
    pipeline = StableDiffusionXLPipeline.from_pretrained('sdxl', torch_dtype=torch.float16)
    pipeline.to('cuda')
    return pipeline(prompt)
# --- silent
import os
import torch

if torch.cuda.is_available() and torch.cuda.device_count() > 1:
    os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
# --- silent
import os
import subprocess
import torch

x = torch.zeros(1).cuda()
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
subprocess.run(['python', 'train.py'], check=True)
# --- silent
import os
import torch

x = torch.zeros(1).cuda()
os.environ['CUDA_LAUNCH_BLOCKING'] = '1'
# --- silent
import os
import torch

def configure():
    os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'

def build(model):
    return model.cuda()
# --- silent
import os
import torch

x = torch.zeros(1)
if x.numel() > 1:
    x = x.cuda()
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
