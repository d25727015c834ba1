import itertools as it

import torch.utils.data as tud


class SemiSupervised:
    def __init__(self, labelled, unlabelled, bs):
        self.l = tud.DataLoader(labelled, bs, shuffle=True)
        self.u = tud.DataLoader(unlabelled, bs * 7, shuffle=True)
        self.batches = {"l": it.cycle(self.l), "u": it.cycle(self.u)}

    def next(self):
        return next(self.batches["l"]), next(self.batches["u"])
