import statistics
import sys
import time

import torch
import torchvision


def measure(net, shape, runs=200, warmup=20):
    x = torch.randn(shape, device="cuda")
    net = net.cuda()
    net.eval()  # no gradients needed
    for _ in range(warmup):
        net(x)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(runs):
        t = time.perf_counter()
        y = net(x)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - t)
    return {
        "median_ms": 1000 * statistics.median(times),
        "peak_mib": torch.cuda.max_memory_allocated() / 2**20,
        "classes": y.shape[-1],
    }


def main():
    names = sys.argv[1:] or ["resnet50", "vit_b_16", "convnext_tiny"]
    for name in names:
        net = torchvision.models.get_model(name, weights=None)
        for bs in (1, 8, 32):
            print(name, bs, measure(net, (bs, 3, 224, 224)))


if __name__ == "__main__":
    main()
