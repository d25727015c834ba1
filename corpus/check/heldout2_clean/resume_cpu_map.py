import torch


def resume(path, model, opt):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    return state["epoch"] + 1


def main(path, model, opt, fit):
    start = resume(path, model, opt)
    for epoch in range(start, 100):
        fit(model, opt, epoch)
