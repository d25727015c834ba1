"""Jobs that need far more memory than they are given: fit_jobs.py JOB [--steps N] [--hand] [--permuted]. Prints one JSON object.

Ordinary training scripts that know nothing of oomph. Batches are drawn on the host from a seed of their own, so that two
runs see the same ones whatever is recomputed in between. With --hand a job is tuned as people do it: smaller batches, as
many of them, their gradients added up. With --permuted the samples of each batch come in another order, which changes
nothing but how sums are rounded: how far two runs differ by that alone. ONCARD_LOCK names a file that is locked while a job trains, so that several can
start at once and only one is timed.
"""

import argparse
import fcntl
import json
import os
import time

import torch
import torch.nn.functional as F
from torch import nn


def language_model(model, words, batch, length):
    """Batches of tokens, and the loss that transformers' models compute."""

    def draw(generator):
        return torch.randint(0, words, (batch, length), generator=generator)

    return model, draw, lambda tokens: model(input_ids=tokens, labels=tokens).loss


def gpt2(batch=8):
    from transformers import GPT2Config, GPT2LMHeadModel

    return language_model(GPT2LMHeadModel(GPT2Config(attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)).cuda(), 50257, batch, 1024)


def gpt2_dropout(batch=8):
    from transformers import GPT2Config, GPT2LMHeadModel

    return language_model(GPT2LMHeadModel(GPT2Config()).cuda(), 50257, batch, 1024)


def llama(batch=2):
    """1.1 billion parameters, all of them trained."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_attention_heads=32, num_key_value_heads=4,
        vocab_size=32000,
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    return language_model(model, 32000, batch, 512)


def lora(batch=4):
    """A Llama of 7 billion parameters, of which adapters are trained."""
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(LlamaConfig())
    adapters = LoraConfig(r=16, target_modules=["q_proj", "v_proj"], lora_dropout=0.0, task_type="CAUSAL_LM")
    return language_model(get_peft_model(model, adapters), 32000, batch, 512)


def t5(batch=16):
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        d_model=768, d_ff=3072, num_layers=12, num_heads=12, dropout_rate=0.0, decoder_start_token_id=0, vocab_size=32128
    )
    model = T5ForConditionalGeneration(config).cuda()

    def draw(generator):
        return torch.randint(1, 32128, (batch, 512), generator=generator)

    return model, draw, lambda tokens: model(input_ids=tokens, labels=tokens).loss


def bert(batch=32):
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2)
    model = BertForSequenceClassification(config).cuda()

    def draw(generator):
        return torch.randint(1, 30000, (batch, 512), generator=generator)

    def loss(tokens):
        return model(input_ids=tokens, labels=tokens[:, 0] % 2).loss

    return model, draw, loss


def images(model, batch, size, classes):
    def draw(generator):
        return torch.randn(batch, 3, size, size, generator=generator)

    def loss(pixels):
        labels = (pixels[:, 0, 0, 0].abs() * 1000).long() % classes
        return F.cross_entropy(model(pixels), labels)

    return model, draw, loss


def resnet50(batch=256):
    from torchvision.models import resnet50 as build

    return images(build().cuda(), batch, 224, 1000)


def convnext(batch=96):
    from torchvision.models import convnext_tiny as build

    return images(build(stochastic_depth_prob=0.0).cuda(), batch, 224, 1000)


def vit(batch=128):
    import timm

    return images(timm.create_model("vit_base_patch16_224", num_classes=1000).cuda(), batch, 224, 1000)


class Denoiser(nn.Module):
    """A small U-Net with group norm."""

    def __init__(self, width=128):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([self.block(width * 2**at, width * 2 ** (at + 1)) for at in range(3)])
        self.up = nn.ModuleList([self.block(width * 2 ** (at + 1) + width * 2**at, width * 2**at) for at in reversed(range(3))])
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    @staticmethod
    def block(width_in, width_out):
        layers = []
        for first in (width_in, width_out):
            layers += [nn.GroupNorm(1, first), nn.SiLU(), nn.Conv2d(first, width_out, 3, padding=1)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.enter(x)
        skipped = []
        for block in self.down:
            skipped.append(x)
            x = block(F.avg_pool2d(x, 2))
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), skipped.pop()], 1))
        return self.leave(x)


def denoiser(batch=32):
    model = Denoiser().cuda()

    def draw(generator):
        return torch.randn(batch, 3, 128, 128, generator=generator)

    def loss(noise):
        return F.mse_loss(model(noise * 0.5), noise)

    return model, draw, loss


class Towers(nn.Module):
    """Two towers whose outputs are compared with one another: a loss that does not separate."""

    def __init__(self):
        super().__init__()
        self.left, self.right = (self.tower() for _ in range(2))

    @staticmethod
    def tower():
        layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)

    def forward(self, left, right):
        return self.left(left).mean(1), self.right(right).mean(1)


def contrastive(batch=256):
    model = Towers().cuda()

    def draw(generator):
        return torch.randn(batch, 2, 64, 512, generator=generator)

    def loss(pairs):
        left, right = (F.normalize(part, dim=-1) for part in model(pairs[:, 0], pairs[:, 1]))
        return F.cross_entropy(left @ right.T / 0.07, torch.arange(len(left), device=left.device))

    return model, draw, loss


JOBS = {
    job.__name__: job
    for job in (gpt2, gpt2_dropout, llama, lora, t5, bert, resnet50, convnext, vit, denoiser, contrastive)
}
DIFFERENT_BATCHES = 4
#: How many smaller batches people would make of one.
BY_HAND = {"gpt2": 4, "bert": 4, "vit": 4, "denoiser": 4, "t5": 4}


def locked():
    """Waits until no other job trains."""
    path = os.environ.get("ONCARD_LOCK")
    if path is None:
        return None
    file = open(path, "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def kept_outputs(steps):
    """An evaluation that keeps every output with its graph."""
    from torchvision.models import resnet50 as build

    torch.manual_seed(0)
    model, outputs, times_ms = build().cuda().eval(), [], []
    lock = locked()
    for _ in range(steps):
        start = time.perf_counter()
        outputs.append(model(torch.randn(1, 3, 300, 300, device="cuda")))
        torch.cuda.synchronize()
        times_ms.append((time.perf_counter() - start) * 1000)
    losses = [float(output.detach().mean()) for output in outputs]
    return losses, times_ms, lock


def train(name, steps, parts, is_permuted):
    """Trains, each batch in so many parts, its samples the other way round if asked for."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model, draw, loss_of = JOBS[name]()
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-4)
    losses, times_ms = [], []
    # Drawing large ones takes longer than training on them.
    batches = [draw(generator) for _ in range(DIFFERENT_BATCHES)]
    batches = [batch.flip(0) if is_permuted else batch for batch in batches]
    lock = locked()
    for step in range(steps):
        batch = batches[step % len(batches)]
        start = time.perf_counter()
        optimizer.zero_grad()
        total = 0.0
        for part in batch.chunk(parts):
            loss = loss_of(part.cuda()) / parts
            loss.backward()
            total += loss.detach()
        optimizer.step()
        losses.append(float(total))
        times_ms.append((time.perf_counter() - start) * 1000)
    return losses, times_ms, lock


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=[*JOBS, "kept_outputs"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--hand", action="store_true")
    parser.add_argument("--permuted", action="store_true")
    wanted = parser.parse_args()
    if wanted.job == "kept_outputs":
        losses, times_ms, _lock = kept_outputs(wanted.steps)
    else:
        parts = BY_HAND.get(wanted.job, 1) if wanted.hand else 1
        losses, times_ms, _lock = train(wanted.job, wanted.steps, parts, wanted.permuted)
    peaks = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
    print(json.dumps({"job": wanted.job, "losses": losses, "times_ms": times_ms, "peaks": peaks}))


if __name__ == "__main__":
    main()
