# --- bad
import torch

def robust(model, batch):
    try:
        out = model(batch)
    except torch.OutOfMemoryError:
        out = model(batch[:1])
    return out, model.state_dict()
# --- good
import torch

def robust(model, batch):
    failed = False
    try:
        out = model(batch)
    except torch.OutOfMemoryError:
        failed = True
    if failed:
        out = model(batch[:1])
    return out, model.state_dict()
# --- silent
import torch

def fit(model, loader, optimizer):
    for x in loader:
        try:
            loss = model(x).sum()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        except RuntimeError as error:
            if 'out of memory' not in str(error):
                raise
            for p in model.parameters():
                if p.grad is not None:
                    del p.grad
# --- silent
import torch

def switch(model, on):
    (model.enable_adapter_layers if on else model.disable_adapter_layers)()

def fit(model, loader):
    for x in loader:
        try:
            model.disable_adapter_layers()
            switch(model, False)
            reference = model(x)
            model.enable_adapter_layers()
            (model(x) - reference).sum().backward()
        except torch.cuda.OutOfMemoryError:
            model.enable_adapter_layers()
            continue
# --- silent
import torch

class Head(torch.nn.Module):
    def losses(self, preds, targets):
        try:
            matched = self.assign(preds, targets)
        except RuntimeError as error:
            if 'CUDA out of memory. ' not in str(error):
                raise
            matched = self.assign(preds, targets, 'cpu')
        return matched

    def assign(self, preds, targets, mode='gpu'):
        cost = preds[:, None] - targets[None]
        return cost.sum(-1).argmin(1)
# --- silent
import json
import torch

def answer(model, params):
    try:
        for out in model.stream(params):
            yield json.dumps(out).encode()
    except torch.cuda.OutOfMemoryError as error:
        yield json.dumps({'error': str(error)}).encode()
# --- silent
import torch

def robust(model, batch):
    try:
        return model(batch)
    except torch.OutOfMemoryError:
        print('too big', batch.shape)
        torch.cuda.empty_cache()
        model.zero_grad()
    return model.state_dict()
