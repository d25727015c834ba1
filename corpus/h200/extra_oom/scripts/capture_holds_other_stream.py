"""class: delayed_free
cap_mib: 700
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

side = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
static = torch.zeros(2**20, device="cuda")
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    main = torch.cuda.current_stream()
    for i in range(100):
        a = torch.empty(16 * 2**20, device="cuda")  # guilty
        side.wait_stream(main)
        with torch.cuda.stream(side):
            static.add_(a[: 2**20])
        a.record_stream(side)
        main.wait_stream(side)
        del a
