import torch


class Agent:
    def __init__(self, args, net):
        self.net = net
        if args.cuda:
            self.net.cuda()

    def save(self, path):
        torch.save(self.net.state_dict(), path)

    def load(self, path):
        self.net.load_state_dict(torch.load(path))
