"""CUDA graphs: capture into a private pool, replay, what a capture forbids."""

import warnings

import torch

model = torch.nn.Linear(256, 256).cuda()
static = torch.randn(64, 256, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        model(static).sum().backward()
torch.cuda.current_stream().wait_stream(side)

model.zero_grad(set_to_none=True)
graph = torch.cuda.CUDAGraph()
other = torch.cuda.Stream()
assert not torch.cuda.is_current_stream_capturing()
with torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    output = model(static)
    other.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(other):
        assert torch.cuda.is_current_stream_capturing(), "a stream that waits for a capture is in it"
        twice = output * 2
    torch.cuda.current_stream().wait_stream(other)
    twice.sum().backward()
assert not torch.cuda.is_current_stream_capturing()
reserved = torch.cuda.memory_reserved()
for _ in range(10):
    graph.replay()
assert torch.cuda.memory_reserved() == reserved
pools = {tuple(segment["segment_pool_id"]) for segment in torch.cuda.memory_snapshot()}
assert len(pools) == 2, pools

# A second graph shares the pool of the first.
second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second, pool=graph.pool()):
    model(static)
second.replay()

# An empty capture is noticed.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        pass
assert any("empty" in str(warning.message) for warning in caught), caught

callable_ = torch.cuda.make_graphed_callables(torch.nn.Linear(8, 8).cuda(), (torch.randn(4, 8, device="cuda"),))
callable_(torch.randn(4, 8, device="cuda")).sum().backward()
del graph, second, output, twice
torch.cuda.synchronize()

# Waiting for a stream in a capture is an error, and ends the capture.
broken = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(broken):
        model(static).sum().item()
except RuntimeError as error:
    assert "captur" in str(error), error
else:
    raise SystemExit("no error")
torch.cuda.synchronize()
assert torch.zeros(10, device="cuda").sum().item() == 0
