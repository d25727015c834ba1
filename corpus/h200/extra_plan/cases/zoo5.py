"""Jobs of the kinds that plans had been off for, written before any of them was measured or planned: zoo5.py CASE"""
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared import classify, device, images, lm, timm_model, tokens, train

JOBS = {}


def job(function):
    JOBS[function.__name__] = function
    return function


def clip_model(layers=8):
    from transformers import CLIPConfig, CLIPModel

    text = {"hidden_size": 512, "num_hidden_layers": layers, "vocab_size": 20000, "eos_token_id": 2}
    return CLIPModel(CLIPConfig(text_config=text, vision_config={"hidden_size": 768, "num_hidden_layers": layers, "patch_size": 32}))


def accumulated(amp, parts):
    """CLIP's loss over parts of a batch."""
    model = clip_model().to(device).train()
    optimizer, ids = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.2), tokens(32, 77, 20000)
    scaler = torch.amp.GradScaler("cuda", enabled=amp is torch.float16)
    for step in range(3 * parts):
        with torch.autocast("cuda", dtype=amp or torch.float32, enabled=amp is not None):
            loss = model(pixel_values=torch.randn(32, 3, 224, 224).to(device), input_ids=ids(), return_loss=True).loss / parts
        scaler.scale(loss).backward()
        if (step + 1) % parts == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


@job
def clip_accumulated():
    accumulated(None, 4)


@job
def clip_accumulated_fp16():
    accumulated(torch.float16, 2)


@job
def clip_accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = clip_model(6)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    ids = tokens(48, 77, 20000)
    for _ in range(6):
        with accelerator.accumulate(model):
            loss = model(pixel_values=torch.randn(48, 3, 224, 224, device=device), input_ids=ids(), return_loss=True).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


def whisper(layers=6):
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    return WhisperForConditionalGeneration(WhisperConfig(d_model=512, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, vocab_size=30000, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))


def sounds(batch, words):
    return lambda: (torch.randn(batch, 80, 3000, device=device), torch.randint(5, 30000, (batch, words), device=device))


@job
def whisper_fp16():
    train(whisper(), sounds(8, 96), lambda m, b: m(input_features=b[0], labels=b[1]).loss, amp=torch.float16, clip=1.0)


@job
def whisper_half_weights():
    train(whisper(4).half(), lambda: tuple(part.half() if part.is_floating_point() else part for part in sounds(4, 64)()), lambda m, b: m(input_features=b[0], labels=b[1]).loss, opt=torch.optim.SGD)


@job
def whisper_checkpointed():
    model = whisper()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model.config.use_cache = False
    train(model, sounds(12, 128), lambda m, b: m(input_features=b[0], labels=b[1]).loss, amp=torch.float16)


def trained(model, rows, **options):
    """With Hugging Face's Trainer."""
    from transformers import Trainer, TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(output_dir=folder, max_steps=4, report_to=[], save_strategy="no", disable_tqdm=True, gradient_checkpointing=True, **options)
        Trainer(model=model, args=args, train_dataset=rows).train()


@job
def trainer_checkpointed_bf16():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=4, vocab_size=32000)
    rows = [{"input_ids": torch.arange(1024) + i, "labels": torch.arange(1024) + i} for i in range(64)]
    trained(LlamaForCausalLM(config), rows, per_device_train_batch_size=4, gradient_accumulation_steps=2, bf16=True)


@job
def trainer_checkpointed_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    rows = [{"input_ids": torch.arange(512) + i, "labels": torch.arange(512) + i} for i in range(64)]
    trained(GPT2LMHeadModel(GPT2Config()), rows, per_device_train_batch_size=8, optim="adamw_torch")


class Residual(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.first, self.second = nn.Conv2d(width, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(8, width), nn.GroupNorm(8, out)])
        self.skip = nn.Conv2d(width, out, 1)

    def forward(self, x):
        h = self.first(F.silu(self.norms[0](x)))
        return self.skip(x) + self.second(F.silu(self.norms[1](h)))


def averaged(amp):
    """A denoising network with an average of its weights, from which is sampled."""
    widths = (96, 192, 384)
    down = nn.ModuleList([nn.Conv2d(3, 96, 3, padding=1), *[Residual(a, b) for a, b in zip((96, *widths), widths)]])
    up = nn.ModuleList([*[Residual(b, a) for a, b in zip((96, *widths), widths)][::-1], nn.Conv2d(96, 3, 3, padding=1)])

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = down, up

        def forward(self, x):
            for at, part in enumerate(self.down):
                x = F.avg_pool2d(part(x), 2) if at else part(x)
            for part in self.up[:-1]:
                x = part(F.interpolate(x, scale_factor=2))
            return self.up[-1](x)

    model = Network().to(device)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        x, noise = torch.rand(16, 3, 64, 64, device=device), torch.randn(16, 3, 64, 64, device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
            loss = F.mse_loss(model(x + noise), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
    with torch.no_grad():
        x = torch.randn(48, 3, 64, 64, device=device)
        for _ in range(3):
            x = x - 0.1 * average(x)


@job
def diffusion_averaged():
    averaged(False)


@job
def diffusion_averaged_bf16():
    averaged(True)


@job
def resnet_benchmark():
    from torchvision.models import resnet50

    torch.backends.cudnn.benchmark = True
    train(resnet50(num_classes=10), images(48), classify, opt=torch.optim.SGD, momentum=0.9)


@job
def convnext_benchmark_sizes():
    torch.backends.cudnn.benchmark = True
    sizes = iter((160, 192, 224, 192, 160))
    train(timm_model("convnext_atto"), lambda: images(32, next(sizes))(), classify, steps=5)


@job
def gpt2_compiled():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6)).to(device)
    train(torch.compile(model), tokens(8, 512, 50000), lm, amp=torch.bfloat16)


@job
def unet_compiled():
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *[Residual(64, 64) for _ in range(4)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    train(torch.compile(net), images(32, 96), classify)


torch.manual_seed(0)
JOBS[sys.argv[1]]()
