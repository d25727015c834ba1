# --- bad
import torch

def step(model, batch):
    try:
        model(batch).sum().backward()
    except RuntimeError as error:
        if 'out of memory' in str(error):
            print('skipping a batch')
            model.zero_grad()
        else:
            raise
# --- good
import torch

def step(model, batch):
    try:
        model(batch).sum().backward()
    except torch.OutOfMemoryError:
        print('skipping a batch')
        model.zero_grad()
# --- bad
import torch

def probe(run, size):
    try:
        run(size)
        return True
    except Exception as e:
        if not e.args[0].startswith('CUDA out of memory'):
            raise
        return False
# --- good
import torch

def probe(run, size):
    try:
        run(size)
        return True
    except torch.cuda.OutOfMemoryError:
        return False
# --- silent
import torch

def load(build, fall_back):
    try:
        return build()
    except Exception as error:
        text = str(error).lower()
        if 'expandable_segment' in text or 'cudaalloc' in text or 'out of memory' in text:
            return fall_back()
        raise
# --- silent
import sys
import torch

def main(run):
    try:
        run()
    except RuntimeError as error:
        print('failed:', error)
        if 'CUDA out of memory' in str(error):
            print('try a smaller batch')
        sys.exit(1)
# --- silent
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if 'out of memory' in str(error):
            raise RuntimeError('reduce the batch size') from error
        raise
# --- silent
import torch

def step(run, batch):
    try:
        run(batch)
    except Exception as error:
        if 'out of memory' in str(error):
            print('reduce the batch size')
        raise
# --- silent
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if 'out of memory' in str(error) or 'CUBLAS_STATUS_ALLOC_FAILED' in str(error):
            return None
        raise
# --- silent
import torch

def step(run):
    try:
        run()
    except torch.OutOfMemoryError:
        print('out of memory')
# --- silent
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        print('perhaps out of memory:', error)
        raise
# --- silent
import torch

def step(run):
    try:
        run()
    except RuntimeError as error:
        if isinstance(error, torch.cuda.OutOfMemoryError) or 'out of memory' in str(error):
            return None
        raise
