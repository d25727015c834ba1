# --- bad
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64, num_workers=4)
for x, y in loader:
    x = x.cuda(non_blocking=True)
# --- good
from torch.utils.data import DataLoader

loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
for x, y in loader:
    x = x.cuda(non_blocking=True)
# --- silent
from torch.utils.data import DataLoader

loader = DataLoader(dataset, **options)
for x, y in loader:
    x = x.cuda(non_blocking=True)
