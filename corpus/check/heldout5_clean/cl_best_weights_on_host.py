import torch


class KeepBest:
    def __init__(self):
        self.score = float("-inf")
        self.weights = None

    def offer(self, model, score):
        if score <= self.score:
            return
        self.score = score
        self.weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}

    def restore(self, model):
        model.load_state_dict(self.weights)


def fit(model, train_one, evaluate, epochs):
    best = KeepBest()
    for _ in range(epochs):
        train_one(model)
        best.offer(model, evaluate(model))
    best.restore(model)
    return best.score
