import gc

import torch

from .registry import TASKS
from .store import ResultStore


class Runner:
    def __init__(self, model, tok, batch_size=8):
        self.model, self.tok, self.batch_size = model.cuda().eval(), tok, batch_size
        self.store = ResultStore()

    def run(self, names):
        gc.disable()  # the collector made the progress bar stutter
        for name in names:
            task = TASKS[name]
            with torch.inference_mode():
                for batch in task.batches(self.tok, self.batch_size):
                    out = self.model(**{k: v.cuda() for k, v in batch["inputs"].items()})
                    self.store.add(name, out.logits, batch["gold"])
        return self.store.summary()
