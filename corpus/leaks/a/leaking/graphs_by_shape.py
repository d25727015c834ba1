"""Inference that captures a CUDA graph for every new length and keeps them all, inputs and outputs too."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)).cuda().eval()
captured = {}


@torch.no_grad()
def capture(length):
    static_in = torch.zeros(length, 1024, device="cuda")  # leak
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model(static_in)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_out = model(static_in)  # leak
    return graph, static_in, static_out


def run(x):
    length = x.shape[0]
    if length not in captured:
        captured[length] = capture(length)  # leak
    graph, static_in, static_out = captured[length]
    static_in.copy_(x)
    graph.replay()
    return static_out.clone()


for step in range(steps):
    x = torch.randn(400 + 3 * step, 1024, device="cuda")
    y = run(x)  # leak
    print("step", step, tuple(y.shape), "graphs", len(captured))
