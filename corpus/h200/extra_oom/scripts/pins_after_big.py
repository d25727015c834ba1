"""class: none
cap_mib: 1024
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

pins = []
for i in range(40):
    big = torch.empty(22 * 2**18, device="cuda")
    pins.append(torch.empty(2 * 2**18, device="cuda"))
    del big
    hold = torch.empty(21 * 2**18, device="cuda")
    pins.append(hold)
pins = [t for t in pins if t.numel() < 3 * 2**18]
image = torch.empty(400 * 2**18, device="cuda")
