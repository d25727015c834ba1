"""Numbers only: the names are the same, the values are not tensors."""
import copy

import numpy as np
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import mean_squared_error


def fit(X, y, epochs):
    model = SGDRegressor()
    total_loss, losses, best = 0, [], None
    for _ in range(epochs):
        model.partial_fit(X, y)
        loss = mean_squared_error(y, model.predict(X))
        total_loss += loss
        losses.append(loss)
        if loss == min(losses):
            best = copy.deepcopy(model)
    return best, total_loss / epochs, np.array(losses)
