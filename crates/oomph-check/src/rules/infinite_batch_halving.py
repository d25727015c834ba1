# --- bad
import torch

def largest(run, batch_size):
    while True:
        try:
            run(batch_size)
            return batch_size
        except torch.OutOfMemoryError:
            batch_size //= 2
# --- good
import torch

def largest(run, batch_size):
    while batch_size > 0:
        try:
            run(batch_size)
            return batch_size
        except torch.OutOfMemoryError:
            batch_size //= 2
    raise MemoryError('not even a batch of one fits')
# --- bad
import torch

def fit(trainer):
    done = False
    while not done:
        try:
            trainer.fit()
            done = True
        except RuntimeError as error:
            if 'out of memory' not in str(error):
                raise
            trainer.batch_size = int(trainer.batch_size / 2)
# --- good
import torch

def fit(trainer):
    done = False
    while not done:
        try:
            trainer.fit()
            done = True
        except torch.OutOfMemoryError:
            if trainer.batch_size <= 1:
                raise
            trainer.batch_size = int(trainer.batch_size / 2)
# --- bad
import torch

def predict(model, x):
    batch_size = 512
    while True:
        try:
            return torch.cat([model(part) for part in x.split(batch_size)])
        except RuntimeError:
            batch_size //= 2
# --- good
import torch

def predict(model, x):
    batch_size = 512
    while batch_size >= 1:
        try:
            return torch.cat([model(part) for part in x.split(batch_size)])
        except torch.OutOfMemoryError:
            batch_size //= 2
    raise MemoryError('one row does not fit')
# --- silent
import torch

def largest(run, batch_size):
    for attempt in range(8):
        try:
            run(batch_size)
            return batch_size
        except torch.OutOfMemoryError:
            batch_size //= 2
# --- silent
import torch

def largest(run, batch_size):
    while True:
        try:
            run(batch_size)
            return batch_size
        except torch.OutOfMemoryError:
            batch_size = max(1, batch_size // 2)
            if batch_size == 1:
                raise
# --- silent
import torch

def largest(run, low, high):
    while high - low > 1:
        middle = (low + high) // 2
        try:
            run(middle)
            low = middle
        except torch.OutOfMemoryError:
            high = middle
    return low
