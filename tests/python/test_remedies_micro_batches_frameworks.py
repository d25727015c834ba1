"""Batches in parts under frameworks that own the loop: weights, logs and counters as in the plain run."""

from __future__ import annotations

import importlib.util

import pytest
import remedied

HEAD = """
import os, tempfile
os.environ["ACCELERATE_USE_CPU"] = "1"
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
calls, log = [], []
def counts(module, args, kwargs, output):
    if torch.is_grad_enabled():
        calls.append(len(args[0] if args else next(iter(kwargs.values()))))
"""
TAIL = """
RESULT = {"weights": [p.detach().clone() for p in model.parameters()], "log": log, "calls": calls}
"""

TRAINER = """
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
config = GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=23, n_positions=8, resid_pdrop=0., embd_pdrop=0.,
                    attn_pdrop=0.)
model = GPT2LMHeadModel(config).double()
model.register_forward_hook(counts, with_kwargs=True)
rows = []
for ids in torch.randint(0, 23, (22, 8)):
    labels = ids.clone()
    labels[int(ids[0]) % 6 + 2:] = -100
    rows.append({"input_ids": ids, "labels": labels})
class Logs(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        log.append([state.global_step, logs.get("loss", 0.), logs.get("learning_rate", 0.), logs.get("grad_norm", 0.)])
args = TrainingArguments(tempfile.mkdtemp(), per_device_train_batch_size=8, num_train_epochs=2, logging_steps=1,
                         report_to=[], use_cpu=True, learning_rate=1e-2, optim="sgd", GRADIENTS)
TRAINER(model=model, args=args, train_dataset=rows, callbacks=[Logs()]).train()
"""

LIGHTNING = """
import lightning
from lightning.pytorch import LightningModule
class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        self.net.register_forward_hook(counts, with_kwargs=True)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y, ignore_index=2)
        self.log("mean", F.mse_loss(self.net(x).detach().sum(1), y.double()), on_epoch=True, on_step=False)
        return loss
    def on_train_batch_end(self, outputs, batch, batch_idx):
        log.append([batch_idx, self.global_step, outputs["loss"].item(), len(batch[0])])
    def on_train_epoch_end(self):
        log.append(self.trainer.callback_metrics["mean"].item())
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [opt], [{"scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, .9), "interval": "step"}]
model = Model()
data = TensorDataset(torch.randn(22, 8), torch.randint(0, 4, (22,)))
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=.3, ARGUMENTS)
trainer.fit(model, DataLoader(data, batch_size=8))
"""

ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, ARGUMENTS)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
model.register_forward_hook(counts, with_kwargs=True)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: .9 ** step)
loader = DataLoader(TensorDataset(torch.randn(22, 8), torch.randint(0, 4, (22,))), batch_size=8)
model, opt, loader, scheduler = accelerator.prepare(model, opt, loader, scheduler)
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(x), y, ignore_index=2)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), .3)
            opt.step()
            scheduler.step()
            opt.zero_grad()
        log.append([step, loss.item(), len(x), scheduler.get_last_lr()[0]])
"""

FABRIC = """
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=1)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
net.register_forward_hook(counts, with_kwargs=True)
model, opt = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-2))
loader = DataLoader(TensorDataset(torch.randn(22, 8), torch.randint(0, 4, (22,))), batch_size=8)
loader = fabric.setup_dataloaders(loader)
for epoch in range(3):
    for step, batch in enumerate(loader):
        x, y = batch
        loss = F.cross_entropy(model(x), y, ignore_index=2)
        fabric.backward(loss)
        fabric.clip_gradients(model, opt, max_norm=.3)
        opt.step()
        opt.zero_grad()
        log.append([step, loss.item(), len(x)])
"""


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def compared(body: str) -> None:
    """In parts of at most two rows; the last batch of six makes parts of unequal sizes."""
    text = HEAD + body + TAIL
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 4})
    assert split.of("refused") == []
    assert len(split.of("applied")) == 1
    assert max(plain.result["calls"]) == 8
    assert set(split.result["calls"]) == {1, 2}
    assert sum(split.result["calls"]) == sum(plain.result["calls"])
    assert remedied.difference(plain.result["weights"], split.result["weights"]) < 1e-12
    # The Trainer sums its losses up in single precision.
    assert remedied.difference(plain.result["log"], split.result["log"]) < 1e-6


@pytest.mark.parametrize("gradients", ["max_grad_norm=.5", "gradient_accumulation_steps=2"])
def test_trainer(gradients: str) -> None:
    needs("transformers")
    compared(TRAINER.replace("GRADIENTS", gradients).replace("TRAINER(", "Trainer("))


def test_trainer_whose_loss_counts_no_tokens() -> None:
    needs("transformers")
    own = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(input_ids=inputs["input_ids"]).logits
        return F.cross_entropy(out.reshape(-1, 23), inputs["labels"].reshape(-1))
Own("""
    body = TRAINER.replace("GRADIENTS", "max_grad_norm=.5").replace("\nTRAINER(", own)
    compared(body)


def test_trainer_with_a_loss_that_compares_rows() -> None:
    needs("transformers")
    own = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(input_ids=inputs["input_ids"]).logits.mean(1)
        return F.cross_entropy(out @ out.T, torch.arange(len(out)))
Own("""
    text = HEAD + TRAINER.replace("GRADIENTS", "max_grad_norm=.5").replace("\nTRAINER(", own) + TAIL
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 4})
    assert split.of("applied") == []
    assert "compare rows" in split.of("refused")[0]
    assert remedied.difference(plain.result, split.result) == 0.0


@pytest.mark.parametrize("arguments", ["", "accumulate_grad_batches=2"])
def test_lightning(arguments: str) -> None:
    needs("lightning")
    compared(LIGHTNING.replace("ARGUMENTS", arguments))


@pytest.mark.parametrize(("norm", "reduced"), [("nn.BatchNorm1d(16),", "mean"), ("", "sum")])
def test_another_model_under_lightning_is_looked_at_anew(norm: str, reduced: str) -> None:
    needs("lightning")
    body = """
from lightning.pytorch import LightningModule, Trainer
rows = TensorDataset(torch.randn(24, 8), torch.randint(0, 4, (24,)))
class Model(LightningModule):
    def __init__(self, net, reduction):
        super().__init__()
        self.net, self.reduction = net, reduction
    def training_step(self, batch, batch_idx):
        return F.cross_entropy(self.net(batch[0]), batch[1], reduction=self.reduction)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2)
def fit(net, reduction):
    trainer = Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, default_root_dir=tempfile.mkdtemp())
    trainer.fit(Model(net, reduction), DataLoader(rows, batch_size=8))
    log.append([p.detach().clone() for p in net.parameters()])
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
fit(model, "mean")
fit(nn.Sequential(nn.Linear(8, 16), NORM nn.Tanh(), nn.Linear(16, 4)), "REDUCED")
"""
    text = HEAD + body.replace("NORM", norm).replace("REDUCED", reduced) + TAIL
    plain, split = remedied.run(text), remedied.run(text, {"name": "micro_batches", "parts": 2})
    assert remedied.difference(plain.result["log"], split.result["log"]) < 1e-12
    assert len(split.of("refused")) == bool(norm)


@pytest.mark.parametrize("arguments", ["", "gradient_accumulation_steps=2"])
def test_accelerate(arguments: str) -> None:
    needs("accelerate")
    compared(ACCELERATE.replace("ARGUMENTS", arguments))


def test_fabric() -> None:
    needs("lightning")
    compared(FABRIC)
