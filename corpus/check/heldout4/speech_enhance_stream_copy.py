"""Speech enhancement: overlap the copies of the next batch with compute."""
import torch
from torch import nn

from enhance.model import DPRNN
from enhance.data import noisy_clean


def prefetch(loader):
    for noisy, clean in loader:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            noisy = noisy.pin_memory().to("cuda", non_blocking=True)
            clean = clean.pin_memory().to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        yield noisy, clean


def si_snr(est, ref, eps=1e-8):
    ref = ref - ref.mean(-1, keepdim=True)
    est = est - est.mean(-1, keepdim=True)
    proj = (est * ref).sum(-1, keepdim=True) * ref / (ref.pow(2).sum(-1, keepdim=True) + eps)
    noise = est - proj
    return 10 * torch.log10(proj.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps) + eps)


def main():
    model = DPRNN(64, 128, 6).cuda()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(100):
        for noisy, clean in prefetch(noisy_clean("dns", batch=8)):
            loss = -si_snr(model(noisy), clean).mean()
            opt.zero_grad(set_to_none=False)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        print(epoch, loss.item())


main()
