import torch


def run_trial(make_model, bs):
    model = make_model().cuda()
    x = torch.randn(bs, 3, 224, 224, device="cuda")
    model(x).mean().backward()


def largest_batch(make_model, start=1024):
    bs = start
    while True:
        try:
            run_trial(make_model, bs)
            return bs
        except torch.cuda.OutOfMemoryError:
            bs //= 2
