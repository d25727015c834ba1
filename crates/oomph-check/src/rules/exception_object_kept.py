# --- bad
import torch

def run_all(model, batches):
    errors = []
    for batch in batches:
        try:
            model(batch.cuda()).sum().backward()
        except torch.OutOfMemoryError as error:
            errors.append(error)
    return errors
# --- good
import torch

def run_all(model, batches):
    errors = []
    for batch in batches:
        try:
            model(batch.cuda()).sum().backward()
        except torch.OutOfMemoryError as error:
            errors.append(str(error))
    return errors
# --- bad
import torch

class Worker:
    def step(self, batch):
        try:
            return self.model(batch)
        except RuntimeError as error:
            if 'out of memory' in str(error):
                self.last_error = error
            raise
# --- good
import torch

class Worker:
    def step(self, batch):
        try:
            return self.model(batch)
        except torch.OutOfMemoryError as error:
            self.last_error = str(error)
            raise
# --- bad
import torch

def with_retries(model, batch, sizes):
    failure = None
    for size in sizes:
        try:
            return model(batch[:size])
        except torch.cuda.OutOfMemoryError as error:
            failure = error
    raise failure
# --- good
import torch

def with_retries(model, batch, sizes):
    failure = None
    for size in sizes:
        try:
            return model(batch[:size])
        except torch.cuda.OutOfMemoryError as error:
            failure = str(error)
    raise MemoryError(failure)
# --- silent
import threading
import torch

def parallel(modules, inputs):
    results = {}

    def worker(i, module, x):
        try:
            results[i] = module(x)
        except RuntimeError as error:
            results[i] = error

    threads = [threading.Thread(target=worker, args=(i, m, x)) for i, (m, x) in enumerate(zip(modules, inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results.values():
        if isinstance(result, Exception):
            raise result
    return results
# --- silent
import logging
import torch

def step(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError as error:
        logging.exception('out of memory: %s', error)
# --- silent
import json
import torch

def read_all(paths):
    errors = []
    for path in paths:
        try:
            json.load(open(path))
        except ValueError as error:
            errors.append(error)
    return errors
# --- silent
import torch

def run_all(model, batches):
    errors = []
    for batch in batches:
        try:
            model(batch.cuda()).sum().backward()
        except torch.OutOfMemoryError as error:
            errors.append(error.with_traceback(None))
    return errors
# --- silent
import torch

def run_all(model, batches):
    errors = []
    for batch in batches:
        try:
            model(batch.cuda()).sum().backward()
        except torch.OutOfMemoryError as error:
            error.__traceback__ = None
            errors.append(error)
    return errors
# --- silent
import torch

def run(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError as error:
        failure = error
    raise RuntimeError('the batch does not fit') from failure
