import torch


def capture_all(model, lengths, bs):
    graphs = {}
    for n in lengths:
        static = torch.zeros(bs, n, dtype=torch.long, device="cuda")
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            out = model(static)
        graphs[n] = (g, static, out)
    return graphs
