import csv

import torch


def predict_all(net, loader, threshold=0.5):
    net.eval()
    rows = []
    for names, vol in loader:
        prob = torch.sigmoid(net(vol.cuda()))
        hard = (prob > threshold)
        rows.append((names, prob, hard.cpu()))
    with open("pred.csv", "w", newline="") as fh:
        w = csv.writer(fh)
        for names, prob, hard in rows:
            for n, p, h in zip(names, prob, hard):
                w.writerow([n, float(p.max()), int(h.sum())])
