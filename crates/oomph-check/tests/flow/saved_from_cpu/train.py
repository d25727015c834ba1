import torch

from net import Decoder

decoder = Decoder().cuda()
for step in range(1000):
    decoder.step()
state_dict = decoder.state_dict()
for key in state_dict.keys():
    state_dict[key] = state_dict[key].to(torch.device("cpu"))
torch.save(state_dict, "decoder_%d.pth" % step)
