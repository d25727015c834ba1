import argparse

import torch
import torchvision
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader
from torchvision.transforms import Compose, Resize, ToTensor


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="isic")
    ap.add_argument("--trace", default="trace.json")
    ap.add_argument("--oom-dump", default="oom.pickle")
    return ap.parse_args()


def main():
    a = parse()
    torch.cuda.memory._record_memory_history()
    dl = DataLoader(torchvision.datasets.ImageFolder(a.root, Compose([Resize((384, 384)), ToTensor()])), 64,
                    shuffle=True, num_workers=8)
    net = torchvision.models.swin_v2_s(num_classes=8).cuda()
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    lossf = torch.nn.CrossEntropyLoss()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                 with_stack=True, record_shapes=True) as prof:
        for epoch in range(3):
            for x, y in dl:
                opt.zero_grad()
                loss = lossf(net(x.cuda()), y.cuda())
                loss.backward()
                opt.step()
            print(epoch, loss.item())
    prof.export_chrome_trace(a.trace)
    torch.cuda.memory._dump_snapshot(a.oom_dump)


if __name__ == "__main__":
    main()
