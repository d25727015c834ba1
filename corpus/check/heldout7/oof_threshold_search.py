import numpy as np
import torch
from torch.utils.data import DataLoader

from contrails import ContrailsDataset, load_model

model = load_model("unet_r200d_fold0.pth", "cuda").eval()
loader = DataLoader(ContrailsDataset("validation"), batch_size=32, num_workers=2)


def dice_np(p, t):
    inter = (p * t).sum()
    return 2 * inter / (p.sum() + t.sum() + 1e-6)


def oof_predictions():
    preds, masks = [], []
    with torch.no_grad():
        for x, y in loader:
            logits = model(x.to("cuda"))
            preds.append(torch.sigmoid(logits))
            masks.append(y.to("cuda"))
    # 1856 images, 512x512
    return torch.cat(preds), torch.cat(masks)


preds, masks = oof_predictions()
best_t, best_d = 0.5, 0.0
for t in np.arange(0.2, 0.8, 0.02):
    d = dice_np((preds > t).float(), masks).item()
    if d > best_d:
        best_t, best_d = float(t), d
print(f"best threshold {best_t:.2f}, global dice {best_d:.5f}")
