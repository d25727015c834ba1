"""Everything that bends PyTorch's allocator, each in a job of its own: features.py NAME. Prints what PyTorch counts.

The same job run plainly and under `oomph run` must print the same: the recorder changes nothing.
"""

import json
import os
import sys

import torch


def network(width=512):
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(4)]).cuda()


def train(model, steps=6, batch=64):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(batch, 512, device="cuda")).square().mean().backward()
        optimizer.step()


def plain():
    train(network())


def cuda_graphs():
    model, inputs = network(), torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(inputs).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    model.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        model(inputs).sum().backward()
    for _ in range(5):
        graph.replay()


def reduce_overhead():
    model = torch.compile(network(), mode="reduce-overhead")
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        model.zero_grad(set_to_none=True)
        model(torch.randn(64, 512, device="cuda")).sum().backward()


def mem_pools():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [torch.empty(1 << 20, device="cuda") for _ in range(8)]
    train(network())
    del kept


def cudnn_benchmark():
    torch.backends.cudnn.benchmark = True
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3)).cuda()
    for size in (64, 96, 64):
        model(torch.randn(8, 3, size, size, device="cuda")).sum().backward()


def ddp():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), RANK="0", WORLD_SIZE="1")
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda:0"))
    train(torch.nn.parallel.DistributedDataParallel(network(), device_ids=[0]))
    torch.distributed.destroy_process_group()


def streams():
    side, kept = torch.cuda.Stream(), []
    for _ in range(6):
        block = torch.randn(1 << 20, device="cuda")
        with torch.cuda.stream(side):
            kept.append(block * 2)
        block.record_stream(side)
    torch.cuda.synchronize()


def main():
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    backend = torch.cuda.memory.get_allocator_backend()
    # CUDA's own pool has no snapshot.
    snapshot = torch.cuda.memory_snapshot() if backend == "native" else []
    segments = sorted(
        (part["total_size"], part["segment_type"], tuple((block["size"], block["state"]) for block in part["blocks"]))
        for part in snapshot
    )
    print(json.dumps({"backend": backend, "stats": stats, "segments": segments}))


main()
