import torch
import torchvision
def compare(names, loader, evaluate):
    for name in names:
        net = torchvision.models.get_model(name).cuda()
        evaluate(net, loader)
        torch.cuda.empty_cache()  # <-
        del net
# ---
import gc
import torch
from transformers import AutoModelForCausalLM
def sweep(paths, ask):
    for path in paths:
        model = AutoModelForCausalLM.from_pretrained(path).to("cuda")
        print(ask(model))
        torch.cuda.empty_cache()  # <-
        gc.collect()
        del model
# ---
import torch
import timm
def table(archs, measure):
    rows = {}
    while archs:
        model = timm.create_model(archs.pop(), pretrained=True).cuda().eval()
        rows[len(archs)] = measure(model)
        torch.cuda.empty_cache()  # <-
        del model
    return rows
# ---
import torch
def folds(parts, make, train):
    for k in range(5):
        model = make().cuda()
        train(model, parts[k])
        torch.cuda.empty_cache()  # <-
        del model
# ---
import torch
def run(model, xs):
    out = model(xs.cuda())
    res = out.cpu()
    torch.cuda.empty_cache()  # <-
    del out
    return res
