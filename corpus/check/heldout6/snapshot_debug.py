import torch


def main(build, loader, steps=100_000):
    torch.cuda.memory._record_memory_history()
    net, opt, crit = build()
    net.cuda()
    skipped = 0
    for step, (x, y) in enumerate(loader):
        try:
            opt.zero_grad()
            loss = crit(net(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
        except:
            skipped += 1
            continue
        if step % 5000 == 0:
            torch.cuda.memory._dump_snapshot(f"mem_{step}.pickle")
        if step == steps:
            break
    print("skipped", skipped, "steps")


def default_build():
    from torchvision.models import swin_b

    net = swin_b(num_classes=100)
    return net, torch.optim.AdamW(net.parameters(), 1e-4), torch.nn.CrossEntropyLoss()


if __name__ == "__main__":
    from data import cifar100

    main(default_build, cifar100(batch=256))
