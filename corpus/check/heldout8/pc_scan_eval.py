import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

from models.pointnet2 import PointNet2Cls
from scanobject import ScanObjectNN


def run_split(net, split, device):
    loader = DataLoader(ScanObjectNN(split), batch_size=48, num_workers=6)
    net.eval()
    hits, seen = 0, 0
    all_logits = torch.empty(0, 15, device=device)
    for pts, lab in tqdm(loader, desc=split):
        logits = net(pts.to(device).transpose(1, 2))
        all_logits = torch.cat([all_logits, logits])
        hits += (logits.argmax(1).cpu() == lab).sum().item()
        seen += lab.numel()
    return hits / seen, all_logits.softmax(-1)


if __name__ == "__main__":
    dev = torch.device("cuda:0")
    model = PointNet2Cls(num_classes=15).to(dev)
    model.load_state_dict(torch.load("runs/scan/best.pth", map_location=dev)["net"])
    for name in ("test", "test_hard"):
        acc, probs = run_split(model, name, dev)
        print(f"{name}: {100 * acc:.2f}% conf {probs.max(1).values.mean().item():.3f}")
