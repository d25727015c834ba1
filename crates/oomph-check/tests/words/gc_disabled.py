import gc
import torch
gc.disable()  # <-
class Service:
    def answer(self, x):
        return self.net(x.cuda()).cpu()
