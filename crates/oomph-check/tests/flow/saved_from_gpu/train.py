import torch

from net import Decoder

decoder = Decoder().cuda()
for step in range(1000):
    decoder.step()
torch.save(decoder.state_dict(), "decoder_%d.pth" % step)
