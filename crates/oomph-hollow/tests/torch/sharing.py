"""Tensors handed to another process: they cost their maker, not whoever opens them."""

import ctypes

import torch
import torch.multiprocessing as multiprocessing


def device_bytes():
    hollow = ctypes.CDLL(None)
    hollow.oomph_hollow_device_bytes.restype = ctypes.c_uint64
    return hollow.oomph_hollow_device_bytes(0)


def receive(queue, answers):
    torch.zeros(1, device="cuda")
    before = device_bytes()
    tensor = queue.get()
    answers.put((tuple(tensor.shape), str(tensor.device), device_bytes() - before, tensor.sum().item()))
    del tensor
    answers.get()


def main():
    context = multiprocessing.get_context("spawn")
    queue, answers = context.Queue(), context.Queue()
    child = context.Process(target=receive, args=(queue, answers))
    child.start()
    tensor = torch.randn(1 << 20, 16, device="cuda")
    queue.put(tensor)
    assert answers.get(timeout=120) == ((1 << 20, 16), "cuda:0", 0, 0.0)
    answers.put(None)
    child.join(60)
    assert child.exitcode == 0


if __name__ == "__main__":
    main()
