"""Processes with one ledger share a card: each sees what the other holds, until the other ends."""

import ctypes
import os
import subprocess
import sys

import torch

GIB = 1 << 30
CONTEXT = 512 << 20


def hold(gib: int) -> torch.Tensor:
    return torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")


def processes() -> dict[int, int]:
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    handle = ctypes.c_void_p()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
    count = ctypes.c_uint(0)
    status = nvml.nvmlDeviceGetComputeRunningProcesses(handle, ctypes.byref(count), None)
    assert status == (7 if count.value else 0)
    found = (ctypes.c_ulonglong * (2 * count.value))()
    assert nvml.nvmlDeviceGetComputeRunningProcesses(handle, ctypes.byref(count), found) == 0
    return {found[2 * at] & 0xFFFFFFFF: found[2 * at + 1] for at in range(count.value)}


def child() -> None:
    held = hold(100)
    print(held.numel(), flush=True)
    sys.stdin.read()


def main() -> None:
    assert processes() == {}
    free_alone, total = torch.cuda.mem_get_info()
    with subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"%d\n" % (100 * GIB)
        assert processes() == {os.getpid(): CONTEXT, other.pid: 100 * GIB + CONTEXT}
        assert torch.cuda.mem_get_info() == (free_alone - 100 * GIB - CONTEXT, total)
        mine = hold(20)
        try:
            hold(30)
            raise AssertionError("the card has 139 GiB")
        except torch.OutOfMemoryError as refused:
            assert "18." in str(refused), refused
        other.kill()
    assert processes() == {os.getpid(): 20 * GIB + CONTEXT}
    assert mine.numel() + hold(100).numel() == 120 * GIB


if sys.argv[1:] == ["child"]:
    child()
else:
    main()
