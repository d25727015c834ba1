"""Batches in parts: loops that are understood come out as if they had been run whole."""

from __future__ import annotations

import textwrap

import pytest
import remedied
from micro_batched import HEAD, PLAIN, compared, refused, script

@pytest.mark.parametrize("parts", [2, 3, 4, 16])
def test_plain_loop(parts: int) -> None:
    compared(script(PLAIN), parts)


def test_gradients_of_one_step() -> None:
    """To 1e-12 of each tensor's largest value."""
    body = """
    for a, b in loader:
        loss = crit(model(a), b)
        loss.backward()
        log.append([p.grad.clone() for p in model.parameters()])
        break
    """
    compared(script(body), within=1e-12)


def test_counters_logs_and_metrics_are_those_of_the_batch() -> None:
    body = """
    def train(model, loader):
        total, correct, step = 0.0, 0, 0
        for i, (a, b) in enumerate(loader):
            step += 1
            lr = 1e-2 / step
            for group in opt.param_groups:
                group["lr"] = lr
            a, b = a.to("cpu"), b.to("cpu")
            opt.zero_grad()
            out = model(a)
            loss = crit(out, b)
            loss.backward()
            opt.step()
            total += loss.item() * a.size(0)
            correct += (out.argmax(1) == b).sum().item()
            if i % 2 == 0:
                log.append([i, step, loss.item(), len(a), len(loader)])
            if step >= 3:
                break
        log.append([total, correct, step, loss.item()])
    for epoch in range(3):
        train(model, loader)
    """
    plain, _ = compared(script(body))
    assert plain.result["log"][0][3:] == [16, 4]


@pytest.mark.parametrize(
    "criterion",
    [
        "nn.CrossEntropyLoss(ignore_index=2)",
        "nn.CrossEntropyLoss(weight=torch.tensor([.1, 1., 3., .5]), ignore_index=1)",
        "nn.CrossEntropyLoss(weight=torch.tensor([.1, 1., 3., .5]), label_smoothing=.1)",
        "nn.CrossEntropyLoss(reduction='sum')",
        "lambda out, b: F.nll_loss(F.log_softmax(out, 1), b, ignore_index=0)",
        "lambda out, b: F.mse_loss(out, F.one_hot(b, 4).double())",
        "lambda out, b: ((out - F.one_hot(b, 4)) ** 2).mean()",
        "lambda out, b: ((out - F.one_hot(b, 4)) ** 2).sum()",
        "lambda out, b: crit(out, b) + .1 * F.l1_loss(out, F.one_hot(b, 4).double())",
    ],
)
def test_weights_of_losses(criterion: str) -> None:
    body = PLAIN.replace("crit(model", "criterion(model").replace("opt.step()", "opt.step(); log.append(loss.item())")
    compared(script(body, f"criterion = {criterion}"))


def test_part_in_which_nothing_counts() -> None:
    compared(script(PLAIN, "y[:4] = -100; y[20:24] = -100; y[28:31] = -100"))


def test_gradients_accumulated_by_the_script() -> None:
    body = """
    for epoch in range(5):
        for i, (a, b) in enumerate(loader):
            loss = criterion(model(a), b) / 2
            loss.backward()
            if (i + 1) % 2 == 0:
                opt.step()
                opt.zero_grad(set_to_none=False)
    """
    compared(script(body, "criterion = nn.CrossEntropyLoss(ignore_index=2)"))


@pytest.mark.parametrize(
    ("made", "stepped"),
    [
        ("torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=20)", "scheduler.step()"),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)", "scheduler.step(loss.item())"),
        ("torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)", "scheduler.step()"),
    ],
)
def test_schedulers(made: str, stepped: str) -> None:
    body = PLAIN.replace("opt.step()", f"opt.step(); {stepped}; log.append(opt.param_groups[0]['lr'])")
    plain, _ = compared(script(body, f"scheduler = {made}"))
    assert len(plain.result["log"]) == 20


@pytest.mark.parametrize("order", ["first", "last"])
def test_clipping_averages_and_zero_grad(order: str) -> None:
    body = """
    from torch.nn.utils import clip_grad_norm_
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(.9))
    for epoch in range(5):
        for a, b in loader:
            FIRST
            loss = crit(model(a), b)
            loss.backward()
            log.append(clip_grad_norm_(model.parameters(), .3).item())
            torch.nn.utils.clip_grad_value_(model.parameters(), .1)
            opt.step()
            average.update_parameters(model)
            LAST
    log.append([p.detach() for p in average.parameters()])
    log.append(average.n_averaged.item())
    """
    body = body.replace("FIRST", "opt.zero_grad()" if order == "first" else "pass")
    compared(script(body.replace("LAST", "model.zero_grad()" if order == "last" else "pass")))


def test_scaler() -> None:
    body = """
    scaler = torch.amp.GradScaler("cpu", init_scale=1024., growth_interval=3)
    for epoch in range(5):
        for a, b in loader:
            opt.zero_grad()
            with torch.autocast("cpu", enabled=False):
                loss = crit(model(a), b)
            if scaler.is_enabled():
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
                log.append(torch.nn.utils.clip_grad_norm_(model.parameters(), .3).item())
                scaler.step(opt)
                scaler.update()
            else:
                loss.backward()
                opt.step()
            log.append([loss.item(), scaler.get_scale()])
    """
    compared(script(body))


CNN = """
x = torch.randn(24, 3, 8, 8)
y = torch.randint(0, 4, (24,))
model = watched(nn.Sequential(nn.Conv2d(3, 8, 3), NORM, nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)))
opt = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=.9)
loader = DataLoader(TensorDataset(x, y), batch_size=9)
"""


def test_cnn_with_group_norm() -> None:
    compared(script(PLAIN, CNN.replace("NORM", "nn.GroupNorm(2, 8)")), parts=3)


def test_batch_norm_is_refused() -> None:
    assert "BatchNorm" in refused(script(PLAIN, CNN.replace("NORM", "nn.BatchNorm2d(8)")))


GPT = """
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=DROPOUT, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 11)
    def forward(self, ids, labels=None):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        logits = self.head(self.body(self.embed(ids), mask=mask, is_causal=True))
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, 11), labels[:, 1:].reshape(-1))
        return {"loss": loss, "logits": logits}
def collate(rows):
    ids = torch.stack(rows)
    labels = ids.clone()
    for row in labels:
        row[int(row[0]) % 6 + 1:] = -100
    return {"ids": ids, "labels": labels, "name": "batch"}
model = GPT()
model.embed.register_forward_hook(lambda m, a, o: calls.append(len(a[0])) if torch.is_grad_enabled() else None)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(torch.randint(0, 11, (30, 8)), batch_size=8, collate_fn=collate)
"""


GPT_LOOP = """
for epoch in range(5):
    for batch in loader:
        batch = {key: value.to("cpu") if torch.is_tensor(value) else value for key, value in batch.items()}
        outputs = model(batch["ids"], labels=batch["labels"])
        loss = outputs["loss"]
        loss.backward()
        opt.step()
        opt.zero_grad()
        log.append([outputs["loss"].item(), outputs["logits"].argmax(-1).sum().item()])
"""


def test_language_model_with_labels_that_do_not_count() -> None:
    """Some of its gradients are close to zero, which AdamW makes as large as any: judged by what another order does."""
    text = script(GPT_LOOP, GPT.replace("DROPOUT", "0."))
    plain, permuted = remedied.run(text), remedied.run(text.replace("torch.stack(rows)", "torch.stack(rows[::-1])"))
    drift = remedied.difference(plain.result["weights"], permuted.result["weights"])
    assert 0 < drift < 1e-7
    compared(text, parts=3, within=10 * drift)


def test_gradients_of_a_language_model() -> None:
    body = GPT_LOOP.replace("opt.step()", "log.append([p.grad.clone() for p in model.parameters()]); break")
    compared(script(body.replace("range(5)", "range(1)"), GPT.replace("DROPOUT", "0.")), parts=3, within=1e-12)


def test_dropout_is_no_reason_to_refuse() -> None:
    """Other numbers are drawn for parts; what is drawn does not make the loss depend on other rows."""
    text = script(GPT_LOOP, GPT.replace("DROPOUT", ".1"))
    split = remedied.run(text, {"name": "micro_batches", "parts": 4})
    assert split.of("refused") == []
    assert set(split.result["calls"]) == {2, 1}


def test_noise_that_is_drawn_for_each_row() -> None:
    body = PLAIN.replace("model(a), b", "model(a + torch.randn_like(a) * torch.rand(len(a), 1)), b")
    split = remedied.run(script(body), {"name": "micro_batches", "parts": 4})
    assert split.of("refused") == []
    assert max(split.result["calls"]) == 4


def test_probe_leaves_nothing_behind() -> None:
    """Generators, buffers, counters of the model."""
    before = """
    class Counts(nn.Linear):
        def __init__(self):
            super().__init__(8, 4)
            self.seen = 0
            self.register_buffer("rows", torch.zeros(()))
        def forward(self, a):
            self.seen += 1
            self.rows += len(a)
            return super().forward(a)
    model = watched(Counts())
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    """
    body = PLAIN + "\nlog.append([model.rows.item(), torch.rand(3)])"
    _, split = compared(script(body, textwrap.dedent(before)))
    assert split.result["log"][0][0] == 5 * 52


def test_progress_bars_pass_batches_on() -> None:
    before = """
    class Bar:
        def __init__(self, items):
            self.items, self.count = items, 0
        def __iter__(self):
            for item in self.items:
                yield item
                self.count += 1
    """
    body = PLAIN.replace("for a, b in loader", "for i, (a, b) in enumerate(Bar(loader))")
    compared(script(body, before))


def test_several_forward_passes_and_inner_loops() -> None:
    body = """
    def train():
        for a, b in loader:
            loss, losses = 0, []
            for shift in range(3):
                out = model(a + shift)
                loss += crit(out, b)
                losses.append(out.pow(2).mean())
            loss = loss + sum(losses)
            if not math.isfinite(loss.item()):
                raise ValueError("not finite")
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.append(loss.item())
    train()
    """
    compared(script(body))


def test_replicas_exchange_gradients_once_a_batch() -> None:
    body = """
    import os, tempfile
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
    exchanged = []
    def exchange(_state, bucket):
        exchanged.append(bucket.buffer().clone())
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done
    wrapped = nn.parallel.DistributedDataParallel(model)
    wrapped.register_comm_hook(None, exchange)
    for epoch in range(2):
        for a, b in loader:
            opt.zero_grad()
            loss = F.cross_entropy(wrapped(a), b, ignore_index=2)
            loss.backward()
            opt.step()
    log.append(exchanged)
    dist.destroy_process_group()
    """
    plain, _ = compared(script(body))
    assert len(plain.result["log"][0]) >= 8


def test_values_that_are_not_known() -> None:
    """On a card that computes nothing no losses are compared, and memory is what it will be."""
    body = PLAIN.replace("opt.step()", "opt.step(); log.append([loss.item(), len(a)])")
    plain, split = remedied.run(script(body)), remedied.run(script(body), {"name": "micro_batches", "values": False})
    assert split.of("applied")[0]["weighting"] == "by_rows"
    assert max(split.result["calls"]) == 4
    assert remedied.difference(plain.result["log"], split.result["log"]) < 1e-11


def test_compiled_model_stays_compiled() -> None:
    before = """
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    def backend(graph, _inputs):
        def call(*args):
            calls.append(next(len(arg) for arg in args if torch.is_tensor(arg) and not arg.requires_grad))
            return graph.forward(*args)
        return call
    compiled = torch.compile(model, backend=backend)
    """
    compared(script(PLAIN.replace("model(a)", "compiled(a)"), before))


DETECTION = """
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)
    def forward(self, images, targets):
        if torch.is_grad_enabled():
            calls.append(len(images))
        out = self.head(torch.stack([self.conv(image[None]).mean((0, 2, 3)) for image in images]))
        labels, boxes = (torch.stack([target[key] for target in targets]) for key in ("label", "box"))
        return {"class": F.cross_entropy(out, labels), "box": F.l1_loss(out, boxes)}
def every(items, count):
    seen = 0
    for item in items:
        yield item
        seen += 1
        if seen % count == 0:
            log.append(seen)
def train_one_epoch(model, optimizer, data_loader, device, scaler=None):
    model.train()
    for images, targets in every(data_loader, 2):
        images = [image.to(device) for image in images]
        targets = [{key: value.to(device) for key, value in target.items()} for target in targets]
        with torch.autocast("cpu", enabled=scaler is not None):
            losses = model(images, targets)
            loss = sum(part for part in losses.values())
        value = loss.item()
        if not math.isfinite(value):
            print(f"Loss is {value}, stopping training")
            raise SystemExit(1)
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
        else:
            loss.backward()
            optimizer.step()
        log.append([value, {key: part.item() for key, part in losses.items()}, len(images)])
"""


def test_lists_of_images_of_different_sizes() -> None:
    body = """
    model = Detector()
    opt = torch.optim.SGD(model.parameters(), lr=.1)
    data = [(torch.randn(3, 8 + i % 3, 9), {"label": torch.tensor(i % 2), "box": torch.randn(2)}) for i in range(11)]
    for epoch in range(3):
        train_one_epoch(model, opt, DataLoader(data, 4, collate_fn=lambda rows: tuple(zip(*rows))), "cpu")
    """
    compared(script(body, DETECTION), parts=2)


def test_evaluation_stays_whole() -> None:
    body = PLAIN + "\nfor a, b in loader:\n    with torch.no_grad():\n        log.append(len(model(a)))\n"
    plain, _ = compared(script(body))
    assert plain.result["log"] == [16, 16, 16, 4]


def test_less_is_kept_for_backward() -> None:
    body = """
    peak, alive = 0, 0
    def pack(t):
        global peak, alive
        alive += t.numel()
        peak = max(peak, alive)
        return t
    def unpack(t):
        global alive
        alive -= t.numel()
        return t
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        for a, b in loader:
            loss = crit(model(a), b)
            loss.backward()
            opt.step()
            break
    RESULT = {"peak": peak}
    """
    text = HEAD + textwrap.dedent(body)
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 4})
    weights = 8 * 16 + 16 * 4
    assert split.result["peak"] - weights < 0.3 * (plain.result["peak"] - weights)


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(remedied.ROOT / "python"))
    import torch
    from oomph.remedies.micro_batches import micro_batches

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4, dtype=torch.float64)
    batch = {"x": torch.randn(10, 8, dtype=torch.float64), "y": torch.tensor([0, 1, -100, 3, 2, -100, -100, 0, 1, 2])}

    def loss_of(part: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(part["x"]), part["y"])

    loss_of(batch).backward()
    expected, model.weight.grad = model.weight.grad, None
    sizes = []
    for part, weight in micro_batches(batch, parts=3, counted=lambda some: float((some["y"] != -100).sum())):
        sizes.append(len(part["x"]))
        (loss_of(part) * weight).backward()
    assert sizes == [4, 3, 3]
    assert expected is not None and model.weight.grad is not None
    assert remedied.difference(expected, model.weight.grad) < 1e-14
    with pytest.raises(ValueError, match="first dimension"):
        next(micro_batches({"x": torch.zeros(2, 3), "y": torch.zeros(3)}, parts=2))
