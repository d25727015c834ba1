import torch
def ran_out(err):
    return "out of memory" in str(err)  # <-
def train(model, loader, opt):
    for x in loader:
        try:
            model(x).sum().backward()
            opt.step()
        except RuntimeError as err:
            if not ran_out(err):
                raise
            opt.zero_grad()
# ---
import torch
class Loop:
    @staticmethod
    def is_memory(error):
        words = str(error).lower()
        return "cuda out of memory" in words  # <-
    def run(self, step, batch):
        try:
            return step(batch)
        except Exception as error:
            if self.is_memory(error):
                return None
            raise
# ---
import torch
def find(model, make, size):
    while size > 0:
        try:
            model(make(size))
            return size
        except RuntimeError as e:
            text = str(e)
            if text.find("out of memory") == -1:  # <-
                raise
            size //= 2
# ---
import torch
WORDS = "CUDA out of memory"
def run(model, x):
    try:
        return model(x)
    except RuntimeError as e:
        if WORDS in str(e):  # <-
            return None
        raise
