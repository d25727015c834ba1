import torch
from dataclasses import dataclass


@dataclass
class Outcome:
    ok: bool
    error: Exception | None = None


def attempt(model, x):
    try:
        model(x.cuda()).sum().backward()
        return Outcome(True)
    except RuntimeError as err:
        return Outcome(False, err)  # <-


def sweep(model, inputs):
    outcomes = [attempt(model, x) for x in inputs]
    return [o for o in outcomes if not o.ok]
