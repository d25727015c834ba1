"""Inference through one captured CUDA graph with static inputs."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda().eval()
static_in = torch.zeros(128, 1024, device="cuda")

with torch.no_grad():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            model(static_in)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_out = model(static_in)

total = 0.0
for step in range(steps):
    static_in.copy_(torch.randn(128, 1024))
    graph.replay()
    result = static_out.clone()
    total += result.mean().item()
    print("step", step, "mean", total / (step + 1))
