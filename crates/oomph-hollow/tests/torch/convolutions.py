"""Convolutions take the workspaces that an H200 gave them, in the order in which PyTorch tries engines there."""

import torch
import torch.nn.functional as F
from torch import nn

torch.cuda.init()


def workspaces(run) -> list[int]:
    """What a call allocates besides the tensors that it returns, as requested."""
    torch.cuda.memory._record_memory_history(max_entries=1000, stacks="python")
    result = run()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(None)
    kept = result.numel() * result.element_size()
    return [event["size"] for event in events if event["action"] == "alloc" and event["size"] != kept]


def tensor(*shape, dtype=torch.float32):
    return torch.empty(*shape, device="cuda", dtype=dtype)


# Recorded on an H200 with cuDNN 9.19, from a ResNet-50 at batch 32 and a U-Net at batch 8.
if torch.backends.cudnn.version() == 91900:
    forward = [
        ((32, 3, 224, 224), (64, 3, 7, 7), 2, 3, [122065680]),
        ((32, 256, 56, 56), (64, 256, 1, 1), 1, 0, [400]),
        ((32, 64, 56, 56), (256, 64, 1, 1), 1, 0, []),
        ((32, 128, 56, 56), (128, 128, 3, 3), 2, 1, [64815120]),
        ((32, 512, 14, 14), (512, 512, 3, 3), 2, 1, [32833935]),
        ((8, 128, 37, 37), (256, 128, 3, 3), 1, 1, [24818047]),
        ((8, 256, 75, 75), (128, 256, 3, 3), 1, 1, [70299795]),
    ]
    for x, w, stride, padding, expected in forward:
        x, w = tensor(*x), tensor(*w)
        got = workspaces(lambda: F.conv2d(x, w, stride=stride, padding=padding))
        assert got == expected, (x.shape, w.shape, got, expected)
    filters = [
        ((32, 512, 7, 7), (512, 512, 3, 3), 1, 1, [21365247]),
        ((32, 64, 56, 56), (64, 64, 3, 3), 1, 1, [53592743]),
        ((32, 256, 14, 14), (1024, 256, 1, 1), 1, 0, [33554432]),
    ]
    for x, w, stride, padding, expected in filters:
        x, w = tensor(*x), tensor(*w)
        y = F.conv2d(x, w, stride=stride, padding=padding)
        got = workspaces(lambda: torch.ops.aten.convolution_backward(
            y, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, [False, True, False])[1])
        assert got == expected, (x.shape, w.shape, got, expected)

for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
    for layout in (torch.contiguous_format, torch.channels_last):
        net = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, groups=4),
            nn.Conv2d(64, 64, 3, dilation=2, padding=2), nn.Conv2d(64, 64, 3, groups=64), nn.ConvTranspose2d(64, 16, 2, stride=2),
        ).to("cuda", dtype).to(memory_format=layout)
        net(tensor(4, 3, 64, 64, dtype=dtype).to(memory_format=layout)).sum().backward()
nn.Conv1d(16, 32, 5).cuda()(tensor(4, 16, 1000)).sum().backward()
nn.ConvTranspose3d(4, 8, 2, stride=2).cuda()(tensor(2, 4, 16, 16, 16)).sum().backward()
for setting in ("benchmark", "deterministic"):
    setattr(torch.backends.cudnn, setting, True)
    nn.Conv2d(64, 64, 3, padding=1).cuda()(tensor(8, 64, 32, 32)).sum().backward()
