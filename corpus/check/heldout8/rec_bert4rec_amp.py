import torch
from torch import nn


def train_epoch(model, loader, opt, scaler, mask_id):
    ce = nn.CrossEntropyLoss(ignore_index=0)
    for seq in loader:
        seq = seq.cuda()
        masked = torch.where(torch.rand(seq.shape, device=seq.device) < 0.2, mask_id, seq)
        target = torch.where(masked == mask_id, seq, 0)
        opt.zero_grad()
        with torch.cuda.amp.autocast(dtype=torch.float16):
            loss = ce(model(masked).flatten(0, 1), target.flatten())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return loss.item()
