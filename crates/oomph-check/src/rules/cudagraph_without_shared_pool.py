# --- bad
import torch

graphs = {}
for length in lengths:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs[length] = model(inputs[length])
    graphs[length] = graph
# --- good
import torch

graphs = {}
pool = torch.cuda.graph_pool_handle()
for length in lengths:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        outputs[length] = model(inputs[length])
    graphs[length] = graph
# --- silent
import torch

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = model(x)
