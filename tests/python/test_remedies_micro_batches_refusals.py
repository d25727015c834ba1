"""Batches in parts: loops that are not understood stay as they are, and say why."""

from __future__ import annotations

import pytest
import remedied
from micro_batched import PLAIN, refused, script

def test_contrastive_loss_is_refused() -> None:
    body = PLAIN.replace("crit(model(a), b)", "crit(model(a) @ model(a + 1).T, torch.arange(len(a)))")
    assert "compare rows" in refused(script(body))


def test_mean_of_two_kinds_of_items_is_refused() -> None:
    body = PLAIN.replace("crit(model(a), b)", "F.cross_entropy(model(a), b, ignore_index=1) + model(a).pow(2).mean()")
    assert "mean or the sum" in refused(script(body))


def test_two_optimizers_are_refused() -> None:
    body = """
    other = nn.Linear(4, 1)
    second = torch.optim.SGD(other.parameters(), lr=.1)
    for a, b in loader:
        opt.zero_grad()
        fake = model(a)
        other(fake).mean().backward()
        opt.step()
        second.zero_grad()
        loss = other(fake.detach()).pow(2).mean()
        loss.backward()
        second.step()
    """
    assert "more than once" in refused(script(body))


def test_closures_are_refused() -> None:
    body = """
    opt = torch.optim.LBFGS(model.parameters(), max_iter=3)
    for a, b in loader:
        def closure():
            opt.zero_grad()
            loss = crit(model(a), b)
            loss.backward()
            return loss
        opt.step(closure)
    """
    assert "closures" in refused(script(body))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("total = total + loss.item()", "carried"),
        ("total += loss.item()", "added up"),
        ("log.append(loss.item())", "see a part"),
        ("if loss.item() > 100: continue", "leaves the iteration"),
        ("model.latest = loss.item()", "elsewhere"),
    ],
)
def test_uses_of_the_loss_before_backward_are_refused(line: str, why: str) -> None:
    body = PLAIN.replace("loss.backward()", f"{line}\n        loss.backward()")
    assert why in refused(script(body, "total = 0.0"))


def test_steps_in_functions_are_refused() -> None:
    body = """
    def step(a, b):
        opt.zero_grad()
        loss = crit(model(a), b)
        loss.backward()
        opt.step()
    for a, b in loader:
        step(a, b)
    """
    assert "another function" in refused(script(body))


def test_batches_without_a_loader_are_refused() -> None:
    assert "DataLoader" in refused(script(PLAIN.replace("in loader", "in [(x, y)]")))


def test_batches_asked_for_one_by_one_are_refused() -> None:
    body = """
    batches = iter(loader)
    for step in range(3):
        a, b = next(batches)
        loss = crit(model(a), b)
        loss.backward()
        opt.step()
    """
    assert refused(script(body))


def test_items_of_two_loaders_are_refused() -> None:
    body = PLAIN.replace("for a, b in loader", "for (a, b), _ in zip(loader, loader)")
    assert "something between" in refused(script(body))


@pytest.mark.parametrize(
    "loss",
    [
        "crit(model(a) @ model(a + 1).T, torch.arange(len(a)))",
        "torch.cdist(model(a), model(a)).mean()",
        "(model(a)[:, None] - model(a)[None]).reshape(-1, 4).square().mean()",
    ],
)
def test_losses_that_compare_rows_are_refused_without_values(loss: str) -> None:
    body = PLAIN.replace("crit(model(a), b)", loss)
    assert body != PLAIN
    plain, split = remedied.run(script(body)), remedied.run(script(body), {"name": "micro_batches", "values": False})
    assert split.of("applied") == []
    assert "compares the rows" in split.of("refused")[0]
    assert remedied.difference(plain.result, split.result) == 0.0


#: The same lines train a second model, of which the batch or the loss is another matter.
AGAIN = """
def train(model, crit):
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    for epoch in range(2):
        for a, b in loader:
            opt.zero_grad()
            loss = crit(model(a), b)
            loss.backward()
            opt.step()
    log.append([p.detach().clone() for p in model.parameters()])
train(model, crit)
for number in range(2):
    second = nn.Sequential(nn.Linear(8, 16), NORM nn.Tanh(), nn.Linear(16, 4))
    train(second, nn.CrossEntropyLoss(REDUCED))
"""


@pytest.mark.parametrize("norm", ["", "nn.BatchNorm1d(16),"])
@pytest.mark.parametrize("reduced", ["", "reduction='sum'"])
def test_another_model_at_the_same_lines_is_looked_at_anew(norm: str, reduced: str) -> None:
    text = script(AGAIN.replace("NORM", norm).replace("REDUCED", reduced))
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 2})
    assert remedied.difference(plain.result["log"], split.result["log"]) < 1e-12
    assert all("BatchNorm" in why for why in split.of("refused")) and bool(split.of("refused")) is bool(norm)
    weightings = [applied["weighting"] for applied in split.of("applied")]
    assert weightings == (["items", "sum"] if reduced and not norm else ["items"])


def test_batch_norm_that_the_loop_switches_on_is_refused() -> None:
    """After an evaluation: the first batch comes before `model.train()`."""
    body = PLAIN.replace("opt.zero_grad()", "model.train()\n        opt.zero_grad()")
    before = """
    model = watched(nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 4)))
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    model.eval()
    """
    assert "BatchNorm" in refused(script(body, before))
