# --- bad
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __init__(self, array):
        self.x = torch.tensor(array).cuda()
# --- good
import torch
from torch.utils.data import Dataset

class Points(Dataset):
    def __init__(self, array):
        self.x = torch.tensor(array)
# --- bad
import torch
from torch.utils.data import TensorDataset

data = TensorDataset(torch.load('x.pt').to('cuda'), torch.load('y.pt').to('cuda'))
# --- good
import torch
from torch.utils.data import TensorDataset

data = TensorDataset(torch.load('x.pt'), torch.load('y.pt'))
# --- silent
import torch
from torch.utils.data import Dataset, TensorDataset

class Points(Dataset):
    def __init__(self, array, device):
        self.x = torch.tensor(array)
        self.device = device

data = TensorDataset(x, y)
