"""A detector in outline: a backbone with a pyramid, three heads, losses summed by weight; BatchNorm that is frozen."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone


class Scenes(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.randn(3, 384, 384), {"classes": torch.randint(0, 20, (48, 48)), "boxes": torch.randn(4, 48, 48), "centre": torch.rand(1, 48, 48)}


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = resnet_fpn_backbone(backbone_name="resnet50", weights=None, trainable_layers=5)
        self.heads = nn.ModuleDict({name: nn.Sequential(*[nn.Sequential(nn.Conv2d(256, 256, 3, padding=1), nn.GroupNorm(32, 256), nn.ReLU()) for _ in range(4)], nn.Conv2d(256, out, 3, padding=1)) for name, out in (("classes", 20), ("boxes", 4), ("centre", 1))})

    def forward(self, images):
        features = self.backbone(images)["1"]
        return {name: head(features) for name, head in self.heads.items()}


model = Detector().cuda().train()
optimizer = torch.optim.SGD([{"params": model.backbone.parameters(), "lr": 1e-3}, {"params": model.heads.parameters()}], lr=1e-2, momentum=0.9)
for images, targets in DataLoader(Scenes(), batch_size=16, shuffle=True):
    images = images.cuda(non_blocking=True)
    targets = {name: value.cuda(non_blocking=True) for name, value in targets.items()}
    found = model(images)
    losses = {
        "classes": F.cross_entropy(found["classes"], targets["classes"]),
        "boxes": F.smooth_l1_loss(found["boxes"], targets["boxes"]),
        "centre": F.binary_cross_entropy_with_logits(found["centre"], targets["centre"]),
    }
    loss = losses["classes"] + 2.0 * losses["boxes"] + 0.5 * losses["centre"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print({name: value.item() for name, value in losses.items()})
