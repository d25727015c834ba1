"""Chest X-ray evaluation, 14 findings."""
import sys

import torch
import torchvision
import torchxrayvision as xrv
from torchmetrics.classification import MultilabelAUROC

dev = "cuda"
net = xrv.models.DenseNet(weights="densenet121-res224-chex").to(dev).eval()
auc = MultilabelAUROC(num_labels=18).to(dev)
tf = torchvision.transforms.Compose([xrv.datasets.XRayCenterCrop(), xrv.datasets.XRayResizer(224)])
data = xrv.datasets.CheX_Dataset(sys.argv[1], sys.argv[1] + "/train.csv", transform=tf)
xrv.datasets.relabel_dataset(net.pathologies, data)
dl = torch.utils.data.DataLoader(data, batch_size=64, num_workers=8)

torch.no_grad()
for n, b in enumerate(dl):
    pred = net(b["img"].to(dev).float())
    lab = torch.nan_to_num(b["lab"]).int().to(dev)
    auc.update(pred, lab)
    if n % 50 == 0:
        print(n, file=sys.stderr)
print("AUC", auc.compute().item())
