# --- bad
from torch.utils.data import DataLoader

loader = DataLoader(dataset, 256, num_workers=32, prefetch_factor=8, pin_memory=True)
# --- good
from torch.utils.data import DataLoader

loader = DataLoader(dataset, 256, num_workers=8, prefetch_factor=2, pin_memory=True)
# --- silent
from torch.utils.data import DataLoader

loader = DataLoader(dataset, 256, num_workers=16)
other = DataLoader(dataset, 256, num_workers=workers, prefetch_factor=64)
