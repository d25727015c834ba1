from collections import OrderedDict
import torch
def restore(net, path):
    state = torch.load(path)["state_dict"]  # <-
    renamed = OrderedDict()
    for key, value in state.items():
        renamed[key.replace("module.", "")] = value
    net.load_state_dict(renamed)
    return net.cuda()
# ---
import torch
def transfer(net, path):
    saved = torch.load(path)  # <-
    own = net.state_dict()
    fitting = {k: v for k, v in saved.items() if k in own and own[k].shape == v.shape}
    own.update(fitting)
    net.load_state_dict(own)
    return net.cuda()
# ---
import torch
def average(paths, net):
    total = None
    for path in paths:
        state = torch.load(path)["model"]  # <-
        if total is None:
            total = {k: v.clone().float() for k, v in state.items()}
        else:
            for k in total:
                total[k] += state[k].float()
    net.load_state_dict({k: v / len(paths) for k, v in total.items()})
    return net.cuda()
