import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from inat import PhotoFolder, build_net

N_SPECIES = 8142

dev = torch.device("cuda")


def soft_labels(net: nn.Module, unlabeled: DataLoader) -> torch.Tensor:
    net.eval()
    soft = torch.empty(0, N_SPECIES, device=dev)
    with torch.no_grad():
        for x in unlabeled:
            p = net(x.to(dev)).softmax(1)
            soft = torch.cat((soft, p), dim=0)
    return soft


def select(soft: torch.Tensor, thr: float):
    conf, cls = soft.max(1)
    keep = conf > thr
    return keep.nonzero().squeeze(1).cpu(), cls[keep].cpu()


if __name__ == "__main__":
    net = build_net().to(dev)
    net.load_state_dict(torch.load("round1.pt", map_location=dev))
    unl = DataLoader(PhotoFolder("unlabeled"), batch_size=256, num_workers=4)
    idx, cls = select(soft_labels(net, unl), 0.95)
    print(f"{len(idx)} of {len(unl.dataset)} photos kept")
    torch.save({"idx": idx, "cls": cls}, "pseudo.pt")
