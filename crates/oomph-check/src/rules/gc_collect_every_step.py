# --- bad
import gc
import torch

for x, y in train_loader:
    step(x, y)
    gc.collect()
# --- good
import gc
import torch

for x, y in train_loader:
    step(x, y)
gc.collect()
# --- bad
import gc
import torch
from transformers import TrainerCallback

class Tidy(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        gc.collect()
# --- good
import gc
import torch
from transformers import TrainerCallback

class Tidy(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        gc.collect()
# --- silent
import gc
import torch

for i, (x, y) in enumerate(train_loader):
    step(x, y)
    if i % 500 == 0:
        gc.collect()
# --- silent
import gc
import torch

gc.disable()
for x, y in train_loader:
    step(x, y)
    gc.collect(1)
# --- silent
import gc
import torch

for epoch in range(10):
    train(epoch)
    gc.collect()
