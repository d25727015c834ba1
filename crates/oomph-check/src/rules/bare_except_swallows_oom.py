# --- bad
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        try:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        except Exception:
            continue
# --- good
import torch

def train(model, train_loader, optimizer, criterion):
    for x, y in train_loader:
        try:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        except torch.OutOfMemoryError:
            optimizer.zero_grad()
# --- bad
import torch

def train_step(model, batch, optimizer):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

def train(model, train_loader, optimizer):
    for i, batch in enumerate(train_loader):
        try:
            train_step(model, batch, optimizer)
        except:
            print('skipped', i)
# --- good
import torch

def train_step(model, batch, optimizer):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

def train(model, train_loader, optimizer):
    for i, batch in enumerate(train_loader):
        train_step(model, batch, optimizer)
# --- silent
import torch

class Agent:
    def learn(self):
        self.optimizer.zero_grad()
        self.net(self.batch()).sum().backward()
        self.optimizer.step()

def play(env, steps):
    agent = Agent()
    for step in range(steps):
        try:
            agent.learn()
        except Exception:
            print('no step')
# --- silent
import torch

def train(model, train_loader, optimizer):
    batches = iter(train_loader)
    for i in range(1000):
        try:
            x, y = next(batches)
        except Exception:
            continue
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
# --- silent
import torch

def train(model, train_loader, optimizer):
    for x, y in train_loader:
        try:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        except Exception as error:
            save(model)
            raise
# --- silent
import torch

def train(model, train_loader, optimizer):
    for x, y in train_loader:
        try:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        except Exception as error:
            print(error)
            optimizer.zero_grad()
# --- silent
import torch

def train(model, train_loader, optimizer):
    for x, y in train_loader:
        try:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        except KeyboardInterrupt:
            break
