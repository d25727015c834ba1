import torch

from .client import Client
from .metrics import evaluate


class Server:
    def __init__(self, model, clients, device="cuda"):
        self.model = model.to(device)
        self.clients = clients

    @torch.no_grad()
    def aggregate(self, updates):
        total = sum(u["n"] for u in updates)
        merged = {}
        for key in updates[0]["weights"]:
            merged[key] = sum(u["weights"][key].float() * (u["n"] / total) for u in updates)
        self.model.load_state_dict(merged)

    def fit(self, rounds, test_loader, epochs=1, keep=None):
        for r in range(rounds):
            for c in self.clients:
                c.receive(self.model.state_dict())
            self.aggregate([c.local_train(epochs) for c in self.clients])
            acc, loss = evaluate(self.model, test_loader)
            print(f"round {r}: acc {acc:.3f} loss {loss:.3f}")


def build(make_model, loaders):
    return Server(make_model(), [Client(i, l, make_model) for i, l in enumerate(loaders)])
