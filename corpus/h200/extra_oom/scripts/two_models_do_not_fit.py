"""class: too_big
cap_mib: 900
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

def build(width):
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(8)])


student = build(2048).cuda()
teacher = build(5120).cuda()  # guilty
