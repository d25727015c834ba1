import gc

import torch


def train_then_eval(build, train, evaluate):
    net = build().cuda()
    train(net)
    weights = {k: v.cpu() for k, v in net.state_dict().items()}
    del net
    gc.collect()
    torch.cuda.empty_cache()
    return evaluate(weights)
