"""FSDP2: built without memory, trained, saved sharded and whole, loaded again."""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (dist.get_world_size(),))
with torch.device("meta"):
    net = nn.Sequential(*[nn.TransformerEncoderLayer(256, 4, 512, batch_first=True) for _ in range(2)])
for layer in net:
    fully_shard(layer, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
fully_shard(net, mesh=mesh)
net.to_empty(device="cuda")
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    net(torch.randn(4, 16, 256, device="cuda")).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
weights, state = get_state_dict(net, optimizer)
dcp.save({"net": weights, "optimizer": state}, checkpoint_id="sharded")
dcp.load({"net": weights, "optimizer": state}, checkpoint_id="sharded")
whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
dist.barrier()
if dist.get_rank() == 0:
    torch.save(whole, "whole.pt")
    assert torch.load("whole.pt", mmap=True)["0.linear1.weight"].shape == (512, 256)
dist.destroy_process_group()
