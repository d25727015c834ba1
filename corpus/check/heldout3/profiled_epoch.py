import torch
import torchvision
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader


def make(root, batch):
    tf = torchvision.transforms.Compose([torchvision.transforms.Resize((224, 224)), torchvision.transforms.ToTensor()])
    ds = torchvision.datasets.Food101(root, download=False, transform=tf)
    return DataLoader(ds, batch, shuffle=True, num_workers=8, pin_memory=True)


def train_one_epoch(net, loader, opt):
    net.train()
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as prof:
        for x, y in loader:
            with record_function("forward"):
                loss = torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            with record_function("backward"):
                opt.zero_grad()
                loss.backward()
            with record_function("step"):
                opt.step()
    prof.export_chrome_trace("epoch.json")
    print(prof.key_averages().table(sort_by="self_cuda_memory_usage", row_limit=20))


def main():
    net = torchvision.models.vit_b_16(num_classes=101).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    loader = make("/data", 64)
    for _ in range(3):
        train_one_epoch(net, loader, opt)


if __name__ == "__main__":
    main()
