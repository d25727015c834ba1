import torch
from torch import nn

from archs import ResNet18, WideResNet


def build_pair(args):
    student = ResNet18(args.classes).to(args.rank)
    teacher = WideResNet(args.classes)
    teacher.load_state_dict(torch.load(args.teacher_ckpt, weights_only=True))
    teacher = teacher.to(args.rank).eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    return student, teacher, nn.KLDivLoss(reduction="batchmean")
