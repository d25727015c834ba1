"""The pieces of timm's training loop: mixup, EMA, its scaler, optimizer and schedule."""

import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, NativeScaler

model = timm.create_model("resnet18", num_classes=10, drop_path_rate=0.1).cuda().to(memory_format=torch.channels_last)
ema = ModelEmaV3(model, decay=0.99)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05, layer_decay=0.7)
schedule = CosineLRScheduler(optimizer, 10)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=10)
scaler, criterion = NativeScaler(), SoftTargetCrossEntropy()
for step in range(10):
    x = torch.randn(4, 3, 64, 64).cuda().contiguous(memory_format=torch.channels_last)
    x, y = mixup(x, torch.randint(0, 10, (4,)).cuda())
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    optimizer.zero_grad()
    scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
    ema.update(model, step=step)
    schedule.step_update(step)
