# --- bad
import torch

torch.autograd.set_detect_anomaly(True)

def train(model, loader):
    for x, y in loader:
        model(x).sum().backward()
# --- good
import torch

def train(model, loader, debug=False):
    torch.autograd.set_detect_anomaly(debug)
    for x, y in loader:
        model(x).sum().backward()
# --- bad
import lightning as L

trainer = L.Trainer(max_epochs=90, detect_anomaly=True)
# --- good
import lightning as L

trainer = L.Trainer(max_epochs=90)
# --- bad
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.autograd.detect_anomaly():
            loss = criterion(model(x), y)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- good
import torch

def train(model, loader, optimizer, criterion):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
# --- bad
import torch

def train(model, loader, optimizer):
    with torch.autograd.detect_anomaly():
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
# --- good
import torch

def train(model, loader, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
# --- silent
import torch

def check_gradients(model, batches):
    with torch.autograd.detect_anomaly():
        for x in batches:
            print(model(x).sum())
# --- silent
import torch

if args.debug:
    torch.autograd.set_detect_anomaly(True)
# --- silent
import torch

torch.autograd.set_detect_anomaly(False)
torch.autograd.set_detect_anomaly(cfg.debug)
# --- silent
import torch

def find_nan(model, x):
    torch.autograd.set_detect_anomaly(True)
    model(x).sum().backward()
    torch.autograd.set_detect_anomaly(False)
# --- silent
import torch

def test_double_backward():
    with torch.autograd.detect_anomaly():
        f(x).backward()
# --- silent
import torch

if __name__ == '__main__':
    torch.autograd.set_detect_anomaly(True)
    with torch.no_grad():
        report(Net()(load()))
