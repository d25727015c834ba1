"""Training and inference jobs of other kinds than the first cases, to judge plans by: zoo.py CASE"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

case = sys.argv[1]
torch.manual_seed(0)
device = "cuda"


def train(model, make_batch, loss_of, steps=4, opt=torch.optim.AdamW, amp=None, scaler=False, **options):
    model = model.to(device).train()
    optimizer = opt(model.parameters(), lr=1e-4, **options)
    scale = torch.amp.GradScaler("cuda", enabled=scaler)
    for _ in range(steps):
        batch = make_batch()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=amp or torch.float32, enabled=amp is not None):
            loss = loss_of(model, batch)
        scale.scale(loss).backward()
        scale.step(optimizer)
        scale.update()


def images(batch, size=224, channels=3):
    return lambda: (torch.randn(batch, channels, size, size).to(device), torch.randint(0, 10, (batch,), device=device))


def classify(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def timm_model(name, batch, **options):
    import timm

    train(timm.create_model(name, num_classes=10), images(batch), classify, **options)


def tokens(batch, length, vocab):
    return lambda: torch.randint(0, vocab, (batch, length), device=device)


def lm(model, ids):
    return model(input_ids=ids, labels=ids).loss


def gpt2(layers=6, width=512):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=width, n_head=8, vocab_size=20000, n_positions=1024))


class Conv3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.InstanceNorm3d(16), nn.ReLU(), nn.Conv3d(16, 32, 3, 2, 1), nn.GroupNorm(4, 32), nn.SiLU(), nn.ConvTranspose3d(32, 8, 2, 2), nn.Conv3d(8, 1, 1))

    def forward(self, x):
        return self.net(x)


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(80, 256, 5, 2, 2), nn.BatchNorm1d(256), nn.GELU(), nn.Conv1d(256, 256, 3, padding=1, groups=256))
        self.rnn = nn.GRU(256, 256, 3, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(512, 40)

    def forward(self, x):
        return self.out(self.rnn(self.conv(x).transpose(1, 2))[0]).log_softmax(-1)


if case == "timm_vit_amp":
    timm_model("vit_small_patch16_224", 32, amp=torch.bfloat16)
elif case == "timm_convnext":
    timm_model("convnext_tiny", 16)
elif case == "timm_efficientnet_amp":
    timm_model("efficientnet_b0", 32, amp=torch.float16, scaler=True)
elif case == "timm_resnet_channels_last":
    import timm

    model = timm.create_model("resnet34", num_classes=10).to(memory_format=torch.channels_last)
    train(model, lambda: (torch.randn(32, 3, 224, 224).to(device, memory_format=torch.channels_last), torch.randint(0, 10, (32,), device=device)), classify, amp=torch.bfloat16, opt=torch.optim.SGD, momentum=0.9)
elif case == "tv_densenet":
    from torchvision.models import densenet121

    train(densenet121(num_classes=10), images(16), classify, opt=torch.optim.SGD, momentum=0.9)
elif case == "tv_mobilenet_eval":
    from torchvision.models import mobilenet_v3_large

    model = mobilenet_v3_large().to(device).eval()
    with torch.inference_mode():
        for _ in range(4):
            model(torch.randn(64, 3, 224, 224).to(device))
elif case == "tv_segmentation":
    from torchvision.models.segmentation import deeplabv3_resnet50

    train(deeplabv3_resnet50(num_classes=5, weights_backbone=None), lambda: (torch.randn(4, 3, 256, 256).to(device), torch.randint(0, 5, (4, 256, 256), device=device)), lambda m, b: F.cross_entropy(m(b[0])["out"], b[1]))
elif case == "conv3d":
    train(Conv3d(), lambda: torch.randn(2, 1, 48, 96, 96).to(device), lambda m, x: F.mse_loss(m(x), x))
elif case == "speech_ctc":
    def ctc(model, x):
        logits = model(x).transpose(0, 1)
        targets = torch.randint(1, 40, (x.shape[0], 20), device=device)
        return F.ctc_loss(logits, targets, torch.full((x.shape[0],), logits.shape[0]), torch.full((x.shape[0],), 20))

    train(Speech(), lambda: torch.randn(16, 80, 400, device=device), ctc)
elif case == "lstm_proj":
    model = nn.LSTM(128, 256, 2, batch_first=True, bidirectional=True)
    train(model, lambda: torch.randn(32, 100, 128, device=device), lambda m, x: m(x)[0].square().mean())
elif case == "gpt2_sdpa_bf16":
    train(gpt2(), tokens(8, 512, 20000), lm, amp=torch.bfloat16)
elif case == "gpt2_fp32_sgd":
    train(gpt2(4, 768), tokens(4, 1024, 20000), lm, opt=torch.optim.SGD)
elif case == "gpt2_generate":
    model = gpt2().to(device).eval()
    with torch.no_grad():
        model.generate(torch.randint(0, 20000, (8, 64), device=device), max_new_tokens=32, do_sample=False, pad_token_id=0)
elif case == "llama_gqa":
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2, vocab_size=16000)
    train(LlamaForCausalLM(config).to(torch.bfloat16), tokens(4, 1024, 16000), lm)
elif case == "bert_mlm":
    from transformers import BertConfig, BertForMaskedLM

    train(BertForMaskedLM(BertConfig(num_hidden_layers=6, vocab_size=20000)), tokens(16, 128, 20000), lm, opt=torch.optim.Adam)
elif case == "t5":
    from transformers import T5Config, T5ForConditionalGeneration

    train(T5ForConditionalGeneration(T5Config(d_model=512, num_layers=4, vocab_size=20000, decoder_start_token_id=0)), tokens(8, 128, 20000), lm)
elif case == "whisper":
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(d_model=256, encoder_layers=4, decoder_layers=4, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, vocab_size=10000)
    train(WhisperForConditionalGeneration(config), lambda: (torch.randn(2, 80, 3000, device=device), torch.randint(0, 10000, (2, 64), device=device)), lambda m, b: m(input_features=b[0], labels=b[1]).loss)
elif case == "vit_hf":
    from transformers import ViTConfig, ViTForImageClassification

    train(ViTForImageClassification(ViTConfig(num_hidden_layers=6, num_labels=10)), images(16), lambda m, b: m(pixel_values=b[0], labels=b[1]).loss, amp=torch.float16, scaler=True)
elif case == "lora":
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(gpt2(8, 512), LoraConfig(r=16, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True))
    train(model, tokens(8, 512, 20000), lm, amp=torch.bfloat16)
elif case == "checkpointed":
    model = gpt2(8, 512)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    train(model, tokens(8, 1024, 20000), lm, amp=torch.bfloat16)
elif case == "hf_trainer":
    from transformers import Trainer, TrainingArguments

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            ids = torch.arange(256) % 1000
            return {"input_ids": ids, "labels": ids}

    args = TrainingArguments(output_dir="/tmp/oomph_out", per_device_train_batch_size=8, gradient_accumulation_steps=2, max_steps=3, report_to=[], save_strategy="no", bf16=True, disable_tqdm=True, dataloader_num_workers=2)
    Trainer(model=gpt2(), args=args, train_dataset=Data()).train()
elif case == "lightning":
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10))

        def training_step(self, batch, index):
            return F.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    data = torch.utils.data.TensorDataset(torch.randn(128, 3, 64, 64), torch.randint(0, 10, (128,)))
    trainer = L.Trainer(max_steps=3, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="gpu", devices=1)
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=32))
elif case == "accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16")
    model = gpt2(4, 512)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = torch.utils.data.DataLoader(torch.randint(0, 20000, (32, 256)), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for ids in loader:
        optimizer.zero_grad()
        accelerator.backward(model(input_ids=ids, labels=ids).loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
elif case == "gcn":
    from torch_geometric.nn import GCNConv

    class Gcn(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = GCNConv(256, 256), GCNConv(256, 16)

        def forward(self, x, edges):
            return self.b(F.relu(self.a(x, edges)), edges)

    edges = torch.randint(0, 20000, (2, 200000), device=device)
    features = torch.randn(20000, 256, device=device)
    train(Gcn(), lambda: (features, torch.randint(0, 16, (20000,), device=device)), lambda m, b: F.cross_entropy(m(b[0], edges), b[1]))
elif case == "embedding_bag":
    model = nn.Sequential(nn.EmbeddingBag(100000, 256, mode="mean"), nn.Linear(256, 512), nn.Dropout(0.1), nn.LayerNorm(512), nn.Linear(512, 10))
    train(model, lambda: (torch.randint(0, 100000, (512, 64), device=device), torch.randint(0, 10, (512,), device=device)), classify)
elif case == "diffusion_step":
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([nn.Conv2d(4, 64, 3, padding=1), nn.Conv2d(64, 128, 3, 2, 1), nn.Conv2d(128, 256, 3, 2, 1)])
            self.attn = nn.MultiheadAttention(256, 8, batch_first=True)
            self.up = nn.ModuleList([nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ConvTranspose2d(128, 64, 4, 2, 1)])
            self.norms = nn.ModuleList([nn.GroupNorm(8, c) for c in (64, 128, 256, 128, 64)])
            self.out = nn.Conv2d(64, 4, 3, padding=1)

        def forward(self, x):
            for layer, norm in zip(self.down, self.norms):
                x = F.silu(norm(layer(x)))
            b, c, h, w = x.shape
            tokens = x.flatten(2).transpose(1, 2)
            x = x + self.attn(tokens, tokens, tokens, need_weights=False)[0].transpose(1, 2).reshape(b, c, h, w)
            for layer, norm in zip(self.up, self.norms[3:]):
                x = F.silu(norm(layer(x)))
            return self.out(x)

    train(Net(), lambda: torch.randn(8, 4, 64, 64, device=device), lambda m, x: F.mse_loss(m(x), x), amp=torch.float16, scaler=True)
elif case == "linalg_fft":
    x = torch.randn(64, 256, 256, device=device, requires_grad=True)
    for _ in range(3):
        y = torch.fft.rfft2(x).abs().sum() + torch.linalg.cholesky(x @ x.mT + 256 * torch.eye(256, device=device)).sum()
        y.backward()
        x.grad = None
elif case == "fused_adam_clip":
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(512, 2048, device=device)).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
elif case == "cuda_graph":
    model = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024)).to(device)
    static = torch.randn(256, 1024, device=device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(static).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(static).sum()
    graph.replay()
elif case == "compiled":
    model = torch.compile(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.LayerNorm(4096), nn.Linear(4096, 1024)).to(device))
    train(model, lambda: torch.randn(256, 1024, device=device), lambda m, x: m(x).square().mean())
else:
    raise SystemExit(f"no case {case}")
