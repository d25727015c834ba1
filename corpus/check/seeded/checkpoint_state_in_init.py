import torch


class Generator:
    def __init__(self, net, path):
        self.ckpt = torch.load(path, map_location="cuda:0")
        self.net = net.cuda()
        self.net.load_state_dict(self.ckpt["g_ema"])
        self.net.eval()

    @torch.no_grad()
    def sample(self, n):
        return self.net(torch.randn(n, 512, device="cuda")).cpu()
