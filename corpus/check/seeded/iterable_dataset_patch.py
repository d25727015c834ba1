import json

from torch.utils.data import DataLoader, IterableDataset
import torch


class Stream(IterableDataset):
    def __init__(self, path, maxlen=128):
        self.path, self.maxlen = path, maxlen

    def patch(self, v):
        return v.cuda(non_blocking=True)

    def __iter__(self):
        with open(self.path) as fh:
            for line in fh:
                ids = torch.tensor(json.loads(line)["ids"][: self.maxlen])
                yield self.patch(ids)


dl = DataLoader(Stream("train.jsonl"), batch_size=None, num_workers=4)
