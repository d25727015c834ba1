"""Recurrent networks run in every shape; the blocks that they take are those of an H200."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

net = nn.LSTM(512, 512, 2, batch_first=True).cuda()
torch.cuda.memory._record_memory_history(max_entries=1000, stacks="python")
net(torch.empty(64, 32, 512, device="cuda"))[0].sum().backward()
sizes = [event["size"] for event in torch.cuda.memory._snapshot()["device_traces"][0] if event["action"] == "alloc"]
torch.cuda.memory._record_memory_history(None)
assert 61342464 in sizes and 46137600 in sizes, sizes

for net in (
    nn.GRU(128, 512), nn.RNN(128, 64, 3), nn.LSTM(64, 32, 2, bidirectional=True, proj_size=16, dropout=0.1),
    nn.LSTM(128, 256, bias=False), nn.GRU(128, 256, 2, bidirectional=True, dropout=0.5),
):
    net = net.cuda()
    net(torch.empty(10, 4, net.input_size, device="cuda"))[0].sum().backward()
    with torch.no_grad():
        net.half().eval()(torch.empty(10, 4, net.input_size, device="cuda", dtype=torch.float16))
packed = pack_padded_sequence(torch.empty(4, 10, 64, device="cuda"), torch.tensor([10, 8, 7, 2]), batch_first=True)
nn.LSTM(64, 32, batch_first=True).cuda()(packed)[0].data.sum().backward()
