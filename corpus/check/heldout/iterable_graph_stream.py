import json

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class GraphStream(IterableDataset):
    def __init__(self, path, device):
        self.path, self.device = path, device

    def __iter__(self):
        info = get_worker_info()
        with open(self.path) as fh:
            for n, line in enumerate(fh):
                if info and n % info.num_workers != info.id:
                    continue
                row = json.loads(line)
                x = torch.tensor(row["x"])
                edges = torch.tensor(row["edges"]).t()
                yield x.to(self.device), edges.to(self.device), row["y"]


def stream(path):
    return DataLoader(GraphStream(path, "cuda:0"), batch_size=None, num_workers=6)
