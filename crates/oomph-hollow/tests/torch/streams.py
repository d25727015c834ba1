"""Streams have pools of their own, record_stream defers nothing longer than needed, events are in order."""

import torch

side = torch.cuda.Stream()
urgent = torch.cuda.Stream(priority=-1)
assert urgent.priority < 0 and side.priority == 0
assert side != urgent and side.query()

first = torch.cuda.Event(enable_timing=True)
last = torch.cuda.Event(enable_timing=True)
first.record()
with torch.cuda.stream(side):
    a = torch.randn(1 << 20, device="cuda")
    last.record()
assert first.elapsed_time(last) > 0
torch.cuda.current_stream().wait_stream(side)
torch.cuda.current_stream().wait_event(last)

a.record_stream(torch.cuda.current_stream())
address = a.data_ptr()
del a
with torch.cuda.stream(side):
    b = torch.randn(1 << 20, device="cuda")
    c = torch.randn(1 << 20, device="cuda")
assert address in (b.data_ptr(), c.data_ptr()), "freed once the event is done"
main = torch.randn(1 << 20, device="cuda")
assert main.data_ptr() != address
side.synchronize()

done = []
torch.cuda.current_stream().synchronize()
assert torch.cuda.default_stream().cuda_stream == 0
torch.cuda._sleep(1_000_000)
torch.cuda.synchronize()
