import torch


class Scorer:
    def __init__(self, net, path, device="cuda"):
        net.load_state_dict(torch.load(path, map_location="cpu"))
        self.net, self.device = net.to(device).eval(), device

    @torch.inference_mode()
    def __call__(self, x):
        return self.net(x.to(self.device)).sigmoid().cpu().tolist()
