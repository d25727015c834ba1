import torch


def stream(net, reader):
    with torch.inference_mode():
        for chunk in reader:
            t = torch.from_numpy(chunk).pin_memory()
            yield net(t.cuda(non_blocking=True)).cpu()
