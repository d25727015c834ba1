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
# ---
import torch
def go(model, x, bs):
    while True:
        try:
            return model(x[:bs].cuda())
        except RuntimeError as e:
            msg = str(e).lower()
            if any(w in msg for w in ("out of memory", "cuda oom")):  # <-
                bs //= 2
                continue
            raise
# ---
import torch
OOM_WORDS = ("out of memory", "CUDA OOM")
def is_oom(e):
    return any(w in str(e) for w in OOM_WORDS)  # <-
def go(model, x):
    try:
        return model(x.cuda())
    except RuntimeError as e:
        if not is_oom(e):
            raise
        return None
# ---
import re, torch
def go(model, x):
    try:
        return model(x.cuda())
    except RuntimeError as e:
        if re.search(r"out of memory", str(e)):  # <-
            return None
        raise
# ---
import torch
def go(model, x):
    try:
        return model(x.cuda())
    except Exception as e:
        if "out of memory" in e.args[0]:  # <-
            torch.cuda.empty_cache()
            return None
        raise
# ---
import torch
def go(model, xs):
    for x in xs:
        try:
            model(x.cuda())
        except (RuntimeError, ValueError) as e:
            oom = "CUDA out of memory" in str(e)  # <-
            if oom:
                continue
            raise
# ---
import torch
def go(model, xs):
    for x in xs:
        try:
            model(x.cuda())
        except RuntimeError as e:
            match str(e):
                case s if "out of memory" in s:  # <-
                    continue
                case _:
                    raise
