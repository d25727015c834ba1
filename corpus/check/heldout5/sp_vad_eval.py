import json
import sys
import torch
from torchmetrics.classification import BinaryPrecisionRecallCurve
from vad import VadNet, frames_loader


def evaluate(net, loader):
    net.train(mode=False)
    curve = BinaryPrecisionRecallCurve(thresholds=200).to("cuda")
    with torch.no_grad():
        for x, y in loader:
            curve.update(net(x.cuda()).sigmoid().flatten(), y.cuda().int().flatten())
    p, r, t = curve.compute()
    f1 = 2 * p * r / (p + r).clamp_min(1e-9)
    best = f1[:-1].argmax()
    return {"f1": f1[best].item(), "thr": t[best].item()}


def noise_robustness(net, loader, snrs=(20, 10, 5, 0, -5)):
    table = {}
    for snr in snrs:
        total = 0
        for x, y in loader:
            noise = torch.randn_like(x) * 10 ** (-snr / 20)
            err = torch.nn.functional.binary_cross_entropy_with_logits(net((x + noise).cuda()), y.cuda().float())
            total = total + err
        table[snr] = (total / len(loader)).item()
    return table


if __name__ == "__main__":
    net = VadNet().cuda()
    net.load_state_dict(torch.load(sys.argv[1], map_location="cpu"))
    dl = frames_loader(sys.argv[2], batch_size=512)
    print(json.dumps({**evaluate(net, dl), "noise": noise_robustness(net, dl)}))
