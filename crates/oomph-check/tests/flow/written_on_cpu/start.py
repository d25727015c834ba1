import torch


class Start:
    def __init__(self, net, config):
        self.net = net.cuda()
        if config.embed:
            self.net.embed.load_state_dict(torch.load(config.embed))
        if config.resume:
            self.net.load_state_dict(torch.load(config.resume))  # <- load-without-map-location
