"""Looks like hoarding predictions, but every part goes to the host."""
import timm
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor


@torch.inference_mode()
def embed(net, dl):
    parts = []
    for x, _ in dl:
        parts.append(net(x.cuda()).cpu())
    return torch.cat(parts)


def nearest(q, g, step=512):
    out = []
    for part in q.split(step):
        out.append(torch.cdist(part, g).topk(5, largest=False).indices)
    return torch.cat(out)


if __name__ == "__main__":
    tf = Compose([Resize((224, 224)), ToTensor()])
    net = timm.create_model("resnet50", pretrained=True, num_classes=0).cuda().eval()
    gallery = embed(net, DataLoader(ImageFolder("gallery", tf), 64, num_workers=4))
    queries = embed(net, DataLoader(ImageFolder("query", tf), 64, num_workers=4))
    torch.save(nearest(queries, gallery), "top5.pt")
