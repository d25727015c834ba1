import torch


def autobatch(step, data):
    n = 4096
    while True:
        try:
            step(data[:n].cuda())
            break
        except RuntimeError as e:
            if "out of memory" not in str(e):
                raise
            n = n // 2
    return n
