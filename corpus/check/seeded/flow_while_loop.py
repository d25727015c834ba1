import torch


class NllTracker:
    pass


def estimate_bits_per_dim(flow, sampler, max_batches, dims):
    it = iter(sampler)
    i = 0
    bpd = 0.
    while i < max_batches:
        x = next(it).cuda()
        z, logdet = flow(x)
        prior = -0.5 * (z ** 2).flatten(1).sum(1)
        nll = -(prior + logdet).mean()
        bpd += nll / (dims * 0.6931)
        i += 1
    print("bits/dim: %.4f" % (bpd / max_batches))
    return bpd / max_batches
