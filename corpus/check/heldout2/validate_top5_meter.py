import time

import torch
from utils import AverageMeter, accuracy


def validate(val_loader, model, criterion, print_freq=50):
    batch_time, losses, top1 = AverageMeter(), AverageMeter(), AverageMeter()
    model.eval()
    end = time.time()
    for i, (images, target) in enumerate(val_loader):
        images = images.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        acc1, _ = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1.item(), images.size(0))
        batch_time.update(time.time() - end)
        end = time.time()
        if i % print_freq == 0:
            print(f"{i} {batch_time.avg:.2f} {losses.avg:.3f}")
    return top1.avg
