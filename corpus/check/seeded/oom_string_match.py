import torch


def train_batch(trainer, sample):
    try:
        return trainer.train_step(sample)
    except RuntimeError as e:
        if "out of memory" in str(e):
            print("| WARNING: ran out of memory, skipping batch")
            trainer.zero_grad()
        else:
            raise e
    return None
