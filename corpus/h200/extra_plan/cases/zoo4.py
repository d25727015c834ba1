"""Jobs of one process of `torch.distributed`, as torchrun with one process starts them: zoo4.py CASE"""
import contextlib
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from shared import classify, device, images, lm, tokens, train
from torch.nn.parallel import DistributedDataParallel

os.environ.update(MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
os.environ.setdefault("MASTER_PORT", str(20000 + os.getpid() % 20000))
JOBS = {}


def job(function):
    JOBS[function.__name__] = function
    return function


def start():
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")


def perceptron(width=1024, blocks=6):
    return nn.Sequential(*[nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(blocks)])


def noise(batch, width=1024):
    return lambda: torch.randn(batch, width, device=device)


def square(model, batch):
    return model(batch).square().mean()


def gpt2(**options):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=768, n_head=12, vocab_size=32000, **options))


def ddp(model, **options):
    start()
    return DistributedDataParallel(model.to(device), device_ids=[0], **options)


@job
def ddp_plain():
    train(ddp(perceptron()), noise(256), square)


@job
def ddp_bucket_view():
    train(ddp(perceptron(), gradient_as_bucket_view=True), noise(256), square)


@job
def ddp_static_checkpointed():
    model = gpt2(use_cache=False)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    train(ddp(model, static_graph=True), tokens(8, 512, 32000), lm, amp=torch.bfloat16)


@job
def ddp_unused_parameters():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = perceptron(768, 4), perceptron(768, 2)

        def forward(self, x):
            return self.used(x)

    train(ddp(Branches(), find_unused_parameters=True), noise(128, 768), square, opt=torch.optim.SGD, lr=0.1, momentum=0.9)


@job
def ddp_gpt2_amp_clip():
    train(ddp(gpt2()), tokens(8, 512, 32000), lm, amp=torch.bfloat16, clip=1.0, fused=True)


@job
def ddp_accumulate_no_sync():
    model = ddp(gpt2())
    optimizer, batch = torch.optim.AdamW(model.parameters(), lr=1e-4), tokens(4, 512, 32000)
    for step in range(8):
        last = step % 4 == 3
        with contextlib.nullcontext() if last else model.no_sync():
            (lm(model, batch()) / 4).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


@job
def ddp_resnet_sync_batchnorm():
    import torchvision

    model = nn.SyncBatchNorm.convert_sync_batchnorm(torchvision.models.resnet50(num_classes=10))
    train(ddp(model), images(32), classify, opt=torch.optim.SGD, lr=0.1, momentum=0.9)


@job
def ddp_compressed_hook():
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    model = ddp(perceptron(1024, 8), bucket_cap_mb=50)
    model.register_comm_hook(None, bf16_compress_hook)
    train(model, noise(512), square)


@job
def zero_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = ddp(perceptron())
    optimizer, batch = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-4), noise(256)
    for _ in range(4):
        square(model, batch()).backward()
        optimizer.step()
        optimizer.zero_grad()


@job
def fsdp2_llama():
    from torch.distributed.fsdp import fully_shard
    from transformers import LlamaConfig, LlamaForCausalLM

    start()
    model = LlamaForCausalLM(LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, vocab_size=32000))
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    train(model, tokens(4, 1024, 32000), lm, clip=1.0)


@job
def fsdp2_mixed_precision():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    start()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = gpt2()
    for layer in model.transformer.h:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    train(model, tokens(8, 512, 32000), lm)


@job
def fsdp2_kept_gathered():
    from torch.distributed.fsdp import fully_shard

    start()
    model = perceptron(1536, 6).to(device)
    for layer in model:
        fully_shard(layer, reshard_after_forward=False)
    fully_shard(model)
    train(model, noise(256, 1536), square, opt=torch.optim.Adam, fused=True)


@job
def fsdp1_wrapped():
    import functools

    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    from transformers.models.gpt2.modeling_gpt2 import GPT2Block

    start()
    wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={GPT2Block})
    precision = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
    model = FullyShardedDataParallel(gpt2(), auto_wrap_policy=wrap, mixed_precision=precision, device_id=0, use_orig_params=True)
    train(model, tokens(8, 512, 32000), lm)


@job
def tensor_parallel_one():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    start()
    mesh, model = init_device_mesh("cuda", (1,)), perceptron(1024, 4).to(device)
    plan = {f"{block}.{layer}": style() for block in range(4) for layer, style in ((0, ColwiseParallel), (2, RowwiseParallel))}
    train(parallelize_module(model, mesh, plan), noise(256), square, foreach=False)


@job
def lightning_ddp():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = perceptron(1024, 4)

        def training_step(self, batch, _):
            loss = square(self.net, batch[0])
            self.log("loss", loss, sync_dist=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(1024, 1024)), batch_size=128)
    options = dict(max_steps=6, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    lightning.Trainer(accelerator="gpu", devices=1, strategy="ddp", precision="bf16-mixed", **options).fit(Classifier(), data)


@job
def accelerate_prepared():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.utils.data.DataLoader(torch.randint(5, 32000, (64, 512)), batch_size=8)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for ids in data:
        with accelerator.accumulate(model):
            accelerator.backward(lm(model, ids))
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


@job
def trainer_with_ranks():
    import tempfile

    from transformers import Trainer, TrainingArguments

    data = [{"input_ids": ids, "labels": ids} for ids in torch.randint(5, 32000, (64, 256))]
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(folder, per_device_train_batch_size=8, max_steps=4, bf16=True, report_to=[], save_strategy="no", disable_tqdm=True)
        Trainer(gpt2(), options, train_dataset=data).train()


@job
def gathered_predictions():
    start()
    model = perceptron(1024, 4).to(device).eval()
    kept = []
    with torch.no_grad():
        for _ in range(8):
            scores = model(torch.randn(512, 1024, device=device))
            parts = [torch.empty_like(scores) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, scores)
            kept.append(torch.cat(parts))
        total = torch.cat(kept).sum()
        dist.all_reduce(total)
        dist.broadcast(total, 0)
        dist.barrier()


torch.manual_seed(0)
JOBS[sys.argv[1]]()
if dist.is_initialized():
    dist.destroy_process_group()
