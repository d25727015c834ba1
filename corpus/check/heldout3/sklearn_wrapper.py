"""scikit-learn style estimator around an MLP, for the tabular benchmark."""
import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import nn


class TorchMLP(BaseEstimator, ClassifierMixin):
    def __init__(self, hidden=(512, 512), lr=1e-3, epochs=100, batch=1024, device="cuda"):
        self.hidden, self.lr, self.epochs, self.batch, self.device = hidden, lr, epochs, batch, device

    def _build(self, d_in, d_out):
        dims = (d_in, *self.hidden)
        layers = []
        for a, b in zip(dims, dims[1:]):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(dims[-1], d_out)).to(self.device)

    def fit(self, X, y):
        self.classes_, t = np.unique(y, return_inverse=True)
        self.net_ = self._build(X.shape[1], len(self.classes_))
        X = torch.as_tensor(X, dtype=torch.float32)
        t = torch.as_tensor(t)
        opt = torch.optim.AdamW(self.net_.parameters(), lr=self.lr)
        self.history_ = []
        for _ in range(self.epochs):
            for idx in torch.randperm(len(X)).split(self.batch):
                loss = nn.functional.cross_entropy(self.net_(X[idx].to(self.device)), t[idx].to(self.device))
                opt.zero_grad()
                loss.backward()
                opt.step()
            self.history_.append(loss.item())
        return self

    def predict_proba(self, X):
        self.net_.eval()
        X = torch.as_tensor(X, dtype=torch.float32)
        parts = []
        for chunk in X.split(self.batch):
            parts.append(self.net_(chunk.to(self.device)).softmax(1))
        return torch.cat(parts).detach().cpu().numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]
