"""class: request_too_large
cap_mib: 1500
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

images = torch.zeros(3000, 3, 256, 256)
model = nn.Conv2d(3, 8, 3).cuda()
images = images.to("cuda")  # guilty
model(images[:8])
