import torch
from tqdm import tqdm


class DDIMSampler:
    def __init__(self, unet, alphas, steps=50):
        self.unet = unet.cuda()
        self.alphas = alphas.cuda()
        self.times = torch.linspace(len(alphas) - 1, 0, steps).long().tolist()

    def sample(self, n, shape):
        self.unet.eval()
        x = torch.randn(n, *shape, device="cuda")
        for t, prev in tqdm(list(zip(self.times, self.times[1:]))):
            a, b = self.alphas[t], self.alphas[prev]
            eps = self.unet(x, torch.full((n,), t, device="cuda"))
            x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
            x = b.sqrt() * x0 + (1 - b).sqrt() * eps
        return x.clamp(-1, 1).detach().cpu()
