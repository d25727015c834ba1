import torch

from net import Decoder


def main(args):
    decoder = Decoder()
    decoder.load_state_dict(torch.load(args.decoder))
    decoder.cuda()
