import torch


def find_batch_size(make_model, shape, start=4096):
    bs = start
    model = make_model().cuda()
    while True:
        try:
            x = torch.randn(bs, *shape, device="cuda")
            model(x).sum().backward()
            break
        except torch.OutOfMemoryError:
            bs //= 2
            print("trying", bs)
    model.zero_grad()
    return bs
