# --- bad
import torch
from torch.nn.utils.rnn import pad_sequence

torch.backends.cudnn.benchmark = True

def collate(batch):
    return pad_sequence(batch, batch_first=True)
# --- good
import torch
from torch.nn.utils.rnn import pad_sequence

torch.backends.cudnn.benchmark = False

def collate(batch):
    return pad_sequence(batch, batch_first=True)
# --- silent
import torch

torch.backends.cudnn.benchmark = True
for x, y in loader:
    print(model(x))
