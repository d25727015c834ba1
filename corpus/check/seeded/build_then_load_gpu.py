import torch

from llama import Transformer


def load(path, args):
    net = Transformer(args).cuda()
    net.load_state_dict(torch.load(path, map_location="cuda", weights_only=True))
    return net.eval()
