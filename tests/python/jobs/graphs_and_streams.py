"""CUDA graphs by hand, side streams, events, and the allocator's own calls."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
optimizer = torch.optim.Adam(net.parameters(), capturable=True)
x, y = torch.zeros(64, 256, device="cuda"), torch.zeros(64, dtype=torch.long, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()
for _ in range(100):
    x.copy_(torch.randn(64, 256))
    graph.replay()
print(loss.item())

layer = torch.cuda.make_graphed_callables(torch.nn.Linear(256, 256).cuda(), (torch.randn(8, 256, device="cuda", requires_grad=True),))
layer(torch.randn(8, 256, device="cuda", requires_grad=True)).sum().backward()
with torch.cuda.stream(side):
    kept = torch.empty(1 << 20, device="cuda")
kept.record_stream(torch.cuda.current_stream())
doubled = kept * 2
del kept
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
end.record()
torch.cuda.synchronize()
assert end.query() and start.elapsed_time(end) >= 0
torch.cuda.empty_cache()
assert torch.cuda.memory_allocated() <= torch.cuda.memory_reserved() <= torch.cuda.max_memory_reserved()
