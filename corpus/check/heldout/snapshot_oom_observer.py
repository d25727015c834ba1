import torch
from torch.cuda import memory as cuda_memory


def on_oom(device, alloc, device_alloc, device_free):
    cuda_memory._dump_snapshot("oom.pickle")


def install():
    cuda_memory._record_memory_history(enabled="all", context="all")
    torch._C._cuda_attach_out_of_memory_observer(on_oom)


def main(build, loader):
    install()
    model, opt = build()
    for batch in loader:
        opt.zero_grad(set_to_none=True)
        model(batch.cuda()).mean().backward()
        opt.step()
