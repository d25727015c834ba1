"""Jobs that no plan had been tried on when they were measured, of a third set: zoo3.py CASE"""
import itertools
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared import classify, device, images, lm, timm_model, tokens, train

JOBS = {}


def job(function):
    JOBS[function.__name__] = function
    return function


@job
def gemma2_softcap():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(hidden_size=768, intermediate_size=3072, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4, head_dim=96, vocab_size=32000, sliding_window=256, attn_implementation="eager")
    train(Gemma2ForCausalLM(config), tokens(4, 768, 32000), lm, amp=torch.bfloat16, clip=1.0)


@job
def phi3_sgd():
    from transformers import Phi3Config, Phi3ForCausalLM

    config = Phi3Config(hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=16, vocab_size=32064)
    train(Phi3ForCausalLM(config).to(torch.bfloat16), tokens(4, 1024, 32000), lm, opt=torch.optim.SGD, lr=0.01, momentum=0.9, nesterov=True)


@job
def bloom_alibi():
    from transformers import BloomConfig, BloomForCausalLM

    train(BloomForCausalLM(BloomConfig(hidden_size=768, n_layer=8, n_head=12, vocab_size=50000)), tokens(6, 512, 50000), lm, opt=torch.optim.Adam, amp=torch.bfloat16)


@job
def neox_checkpointed():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    model = GPTNeoXForCausalLM(GPTNeoXConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=8, num_attention_heads=16, vocab_size=30000, use_cache=False))
    model.gradient_checkpointing_enable({"use_reentrant": False})
    train(model, tokens(8, 1024, 30000), lm, amp=torch.bfloat16, fused=True)


@job
def olmo2_accumulated():
    from transformers import Olmo2Config, Olmo2ForCausalLM

    model = Olmo2ForCausalLM(Olmo2Config(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=16, vocab_size=40000)).to(device)
    optimizer, batch = torch.optim.AdamW(model.parameters(), lr=1e-4), tokens(2, 1024, 40000)
    for step in range(9):
        (lm(model, batch()) / 3).backward()
        if (step + 1) % 3 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)


@job
def electra_discriminator():
    from transformers import ElectraConfig, ElectraForPreTraining

    model = ElectraForPreTraining(ElectraConfig(hidden_size=512, embedding_size=256, num_hidden_layers=8, num_attention_heads=8, intermediate_size=2048, vocab_size=30000))
    ids = tokens(32, 128, 30000)
    train(model, lambda: (ids(), torch.randint(0, 2, (32, 128), device=device)), lambda m, b: m(input_ids=b[0], labels=b[1]).loss, amp=torch.float16)


@job
def deberta_regression():
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    config = DebertaV2Config(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, vocab_size=20000, num_labels=1, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=64)
    ids = tokens(16, 256, 20000)
    train(DebertaV2ForSequenceClassification(config), lambda: (ids(), torch.randn(16, device=device)), lambda m, b: m(input_ids=b[0], labels=b[1]).loss)


@job
def xlnet_classifier():
    from transformers import XLNetConfig, XLNetForSequenceClassification

    model = XLNetForSequenceClassification(XLNetConfig(d_model=512, n_layer=6, n_head=8, d_inner=2048, vocab_size=20000, num_labels=4))
    ids = tokens(8, 256, 20000)
    train(model, lambda: (ids(), torch.randint(0, 4, (8,), device=device)), lambda m, b: m(input_ids=b[0], labels=b[1]).loss, opt=torch.optim.RAdam)


@job
def whisper_train():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, vocab_size=20000, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    train(WhisperForConditionalGeneration(config), lambda: (torch.randn(8, 80, 3000, device=device), torch.randint(5, 20000, (8, 64), device=device)), lambda m, b: m(input_features=b[0], labels=b[1]).loss, amp=torch.bfloat16)


@job
def marian_greedy():
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(d_model=512, encoder_layers=4, decoder_layers=4, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, vocab_size=16000, pad_token_id=0, eos_token_id=None, decoder_start_token_id=0, forced_eos_token_id=None)
    model = MarianMTModel(config).to(device).eval()
    with torch.inference_mode():
        model.generate(tokens(16, 64)(), max_new_tokens=48, do_sample=False)


@job
def qwen2_moe():
    from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

    config = Qwen2MoeConfig(hidden_size=512, intermediate_size=1024, moe_intermediate_size=512, shared_expert_intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, num_experts=8, num_experts_per_tok=2, vocab_size=16000)
    train(Qwen2MoeForCausalLM(config).to(torch.bfloat16), tokens(4, 512), lm)


@job
def t5_adafactor_checkpointed():
    from transformers import T5Config, T5ForConditionalGeneration
    from transformers.optimization import Adafactor

    model = T5ForConditionalGeneration(T5Config(d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, vocab_size=20000, decoder_start_token_id=0, use_cache=False))
    model.gradient_checkpointing_enable()
    ids = tokens(16, 256, 20000)
    train(model, lambda: (ids(), ids()[:, :64]), lambda m, b: m(input_ids=b[0], labels=b[1].contiguous()).loss, opt=Adafactor, scale_parameter=False, relative_step=False)


@job
def vit_mae():
    from transformers import ViTMAEConfig, ViTMAEForPreTraining

    model = ViTMAEForPreTraining(ViTMAEConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, decoder_hidden_size=256, decoder_num_hidden_layers=4, decoder_num_attention_heads=8, decoder_intermediate_size=1024))
    train(model, images(32), lambda m, b: m(pixel_values=b[0]).loss, amp=torch.bfloat16)


@job
def videomae_classifier():
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification

    model = VideoMAEForVideoClassification(VideoMAEConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536, num_labels=12))
    train(model, lambda: (torch.randn(4, 16, 3, 224, 224, device=device), torch.randint(0, 12, (4,), device=device)), lambda m, b: m(pixel_values=b[0], labels=b[1]).loss, amp=torch.float16)


@job
def dinov2_lora():
    from peft import LoraConfig, get_peft_model
    from transformers import Dinov2Config, Dinov2ForImageClassification

    model = Dinov2ForImageClassification(Dinov2Config(hidden_size=768, num_hidden_layers=8, num_attention_heads=12, num_labels=10))
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules=["query", "value"], modules_to_save=["classifier"]))
    train(model, images(32), lambda m, b: m(pixel_values=b[0], labels=b[1]).loss, amp=torch.bfloat16)


@job
def ia3_bloom():
    from peft import IA3Config, get_peft_model
    from transformers import BloomConfig, BloomForCausalLM

    model = get_peft_model(BloomForCausalLM(BloomConfig(hidden_size=768, n_layer=6, n_head=12, vocab_size=16000)), IA3Config(task_type="CAUSAL_LM"))
    train(model, tokens(8, 256), lm)


@job
def timm_maxvit():
    train(timm_model("maxvit_tiny_tf_224"), images(16), classify, amp=torch.bfloat16)


@job
def timm_convnextv2_ema():
    from timm.utils import ModelEmaV3

    model = timm_model("convnextv2_nano").to(device)
    ema, optimizer = ModelEmaV3(model, decay=0.99), torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(4):
        loss = classify(model, images(32)())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)


@job
def timm_hrnet():
    train(timm_model("hrnet_w18_small"), images(24), classify, opt=torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=1e-4)


@job
def timm_levit_channels_last():
    model = timm_model("levit_256").to(memory_format=torch.channels_last)
    train(model, images(64), lambda m, b: classify(m, (b[0].to(memory_format=torch.channels_last), b[1])), amp=torch.bfloat16)


@job
def timm_mobilevit_fp16():
    train(timm_model("mobilevit_s"), images(32, 256), classify, amp=torch.float16, clip=1.0)


@job
def timm_features_frozen():
    import timm

    body = timm.create_model("resnet34", features_only=True)
    body = body.to(device).eval().requires_grad_(False)
    head = nn.Sequential(nn.Conv2d(512, 256, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))

    def loss_of(m, b):
        with torch.no_grad():
            x = body(b[0])[-1]
        return F.cross_entropy(m(x), b[1])

    train(head, images(64), loss_of, opt=torch.optim.Adam)


@job
def tv_shufflenet_adadelta():
    import torchvision

    train(torchvision.models.shufflenet_v2_x1_0(num_classes=10), images(64), classify, opt=torch.optim.Adadelta, lr=1.0)


@job
def tv_googlenet_aux():
    import torchvision

    def loss_of(m, b):
        out = m(b[0])
        return F.cross_entropy(out.logits, b[1]) + 0.3 * (F.cross_entropy(out.aux_logits1, b[1]) + F.cross_entropy(out.aux_logits2, b[1]))

    train(torchvision.models.googlenet(num_classes=10, init_weights=False), images(32), loss_of, opt=torch.optim.SGD, lr=0.01)


@job
def tv_deeplab():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(num_classes=8, weights_backbone=None)
    train(model, lambda: (torch.randn(8, 3, 320, 320, device=device), torch.randint(0, 8, (8, 320, 320), device=device)), lambda m, b: F.cross_entropy(m(b[0])["out"], b[1]))


@job
def tv_resnext_accumulate_bf16():
    import torchvision

    model = torchvision.models.resnext50_32x4d(num_classes=100).to(device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step, (x, y) in enumerate(itertools.islice(iter(images(16, classes=100), None), 6)):
        F.cross_entropy(model(x.bfloat16()).float(), y).backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()


@job
def tv_efficientnet_v2_swa():
    import torchvision

    model = torchvision.models.efficientnet_v2_s(num_classes=10).to(device)
    averaged, optimizer = torch.optim.swa_utils.AveragedModel(model), torch.optim.RMSprop(model.parameters(), 1e-3, momentum=0.9)
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = classify(model, images(16)())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        averaged.update_parameters(model)
    torch.optim.swa_utils.update_bn([images(16)()[0] for _ in range(2)], averaged, device=device)


@job
def gru_packed():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.out = nn.Embedding(8000, 256), nn.GRU(256, 512, 2, batch_first=True, bidirectional=True, dropout=0.2), nn.Linear(1024, 20)

        def forward(self, ids, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
            out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=ids.size(1))
            return self.out(out)

    lengths = torch.linspace(20, 120, 32).long()
    train(Tagger(), lambda: (torch.randint(0, 8000, (32, 120), device=device), torch.randint(0, 20, (32, 120), device=device)), lambda m, b: F.cross_entropy(m(b[0], lengths).flatten(0, 1), b[1].flatten()), opt=torch.optim.Adam)


@job
def seq2seq_transformer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.core, self.out = nn.Embedding(10000, 512), nn.Transformer(512, 8, 4, 4, 2048, batch_first=True), nn.Linear(512, 10000)

        def forward(self, source, target):
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
            return self.out(self.core(self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True))

    def loss_of(m, b):
        return F.cross_entropy(m(b[0], b[1][:, :-1]).flatten(0, 1), b[1][:, 1:].flatten(), label_smoothing=0.1)

    ids = tokens(24, 96, 10000)
    train(Model(), lambda: (ids(), ids()), loss_of, opt=torch.optim.Adam, betas=(0.9, 0.98))


@job
def triplet_siamese():
    import torchvision

    net = torchvision.models.resnet18(num_classes=128)
    train(net, lambda: [torch.randn(24, 3, 160, 160, device=device) for _ in range(3)], lambda m, b: F.triplet_margin_loss(*[F.normalize(m(x)) for x in b]))


@job
def nerf_rays():
    net = nn.Sequential(nn.Linear(63, 256), *[layer for _ in range(6) for layer in (nn.ReLU(), nn.Linear(256, 256))], nn.ReLU(), nn.Linear(256, 4)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), 5e-4)
    for _ in range(4):
        points = torch.rand(2048, 64, 3, device=device)
        encoded = torch.cat([points] + [f(points * 2**i) for i in range(10) for f in (torch.sin, torch.cos)], -1)
        raw = torch.cat([net(chunk) for chunk in encoded.split(512)])
        alpha = 1 - torch.exp(-F.relu(raw[..., 3]) * 0.01)
        weights = alpha * torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        loss = ((weights[..., None] * raw[..., :3].sigmoid()).sum(1) - torch.rand(2048, 3, device=device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@job
def ppo_update():
    actor = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)).to(device)
    critic = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 1)).to(device)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-4, eps=1e-5)
    with torch.no_grad():
        seen = torch.randn(256, 32, 64, device=device)
        chosen = torch.distributions.Categorical(logits=actor(seen))
        action = chosen.sample()
        old, value = chosen.log_prob(action), critic(seen).squeeze(-1)
        advantage, last = torch.zeros_like(value), 0
        for t in reversed(range(256)):
            last = torch.randn(32, device=device) - value[t] + 0.95 * last
            advantage[t] = last
    for _ in range(2):
        for part in torch.randperm(256 * 32, device=device).split(2048):
            x, a, o, adv, v = (each.flatten(0, 1)[part] for each in (seen, action, old, advantage, value))
            now = torch.distributions.Categorical(logits=actor(x))
            ratio = (now.log_prob(a) - o).exp()
            loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + (critic(x).squeeze(-1) - v - adv).square().mean() - 0.01 * now.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            optimizer.step()


@job
def vq_autoencoder():
    encoder = nn.Sequential(nn.Conv2d(3, 128, 4, 2, 1), nn.ReLU(), nn.Conv2d(128, 128, 4, 2, 1))
    decoder = nn.Sequential(nn.ConvTranspose2d(128, 128, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(128, 3, 4, 2, 1))
    codes = nn.Embedding(1024, 128)

    def loss_of(m, b):
        z = m[0](b[0]).permute(0, 2, 3, 1)
        nearest = torch.cdist(z.flatten(0, 2), m[2].weight).argmin(1)
        q = m[2](nearest).view_as(z)
        return F.mse_loss(m[1]((z + (q - z).detach()).permute(0, 3, 1, 2)), b[0]) + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())

    train(nn.ModuleList([encoder, decoder, codes]), images(32, 128), loss_of, opt=torch.optim.Adam)


@job
def pix2pix():
    def block(i, o, up=False):
        return nn.Sequential((nn.ConvTranspose2d if up else nn.Conv2d)(i, o, 4, 2, 1), nn.InstanceNorm2d(o), nn.LeakyReLU(0.2))

    g = nn.Sequential(block(3, 64), block(64, 128), block(128, 256), block(256, 128, True), block(128, 64, True), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).to(device)
    d = nn.Sequential(block(6, 64), block(64, 128), block(128, 256), nn.Conv2d(256, 1, 4, 1, 1)).to(device)
    og, od = torch.optim.Adam(g.parameters(), 2e-4, betas=(0.5, 0.999)), torch.optim.Adam(d.parameters(), 2e-4, betas=(0.5, 0.999))
    for _ in range(4):
        a, b = torch.randn(8, 3, 256, 256, device=device), torch.randn(8, 3, 256, 256, device=device)
        fake = g(a)
        real_score, fake_score = d(torch.cat([a, b], 1)), d(torch.cat([a, fake.detach()], 1))
        od.zero_grad()
        (F.binary_cross_entropy_with_logits(real_score, torch.ones_like(real_score)) + F.binary_cross_entropy_with_logits(fake_score, torch.zeros_like(fake_score))).backward()
        od.step()
        og.zero_grad()
        score = d(torch.cat([a, fake], 1))
        (F.binary_cross_entropy_with_logits(score, torch.ones_like(score)) + 100 * F.l1_loss(fake, b)).backward()
        og.step()


@job
def unet_deep_supervision():
    class Net(nn.Module):
        def __init__(self, width=(32, 64, 128, 256)):
            super().__init__()
            pair = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(8, o), nn.SiLU(), nn.Conv2d(o, o, 3, 1, 1), nn.GroupNorm(8, o), nn.SiLU())
            self.down = nn.ModuleList(pair(i, o) for i, o in zip((1, *width), width))
            self.up = nn.ModuleList(pair(i + o, o) for i, o in zip(width[:0:-1], width[-2::-1]))
            self.heads = nn.ModuleList(nn.Conv2d(o, 4, 1) for o in width[-2::-1])

        def forward(self, x):
            kept = []
            for i, stage in enumerate(self.down):
                x = stage(F.max_pool2d(x, 2) if i else x)
                kept.append(x)
            outs = []
            for stage, head, skip in zip(self.up, self.heads, kept[-2::-1]):
                x = stage(torch.cat([F.interpolate(x, scale_factor=2, mode="bilinear"), skip], 1))
                outs.append(head(x))
            return outs

    def loss_of(m, b):
        return sum(F.cross_entropy(F.interpolate(out, b[1].shape[1:]), b[1]) / 2**i for i, out in enumerate(reversed(m(b[0]))))

    train(Net(), lambda: (torch.randn(4, 1, 256, 256, device=device), torch.randint(0, 4, (4, 256, 256), device=device)), loss_of, amp=torch.bfloat16)


@job
def loader_pinned_workers():
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(256, 3, 128, 128), torch.randint(0, 10, (256,)))
    loader = iter(DataLoader(data, 48, shuffle=True, num_workers=2, pin_memory=True, drop_last=True))

    def batch():
        return [each.to(device, non_blocking=True) for each in next(loader)]

    import torchvision

    train(torchvision.models.squeezenet1_1(num_classes=10), batch, classify, opt=torch.optim.Adam)


@job
def lightning_manual():
    import lightning as L

    class Both(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.g, self.d = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 3072)), nn.Sequential(nn.Linear(3072, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 1))

        def training_step(self, batch, _):
            og, od = self.optimizers()
            real, fake = batch[0], self.g(torch.randn(len(batch[0]), 64, device=self.device))
            od.zero_grad()
            self.manual_backward(F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake.detach())).mean())
            od.step()
            og.zero_grad()
            self.manual_backward(F.softplus(-self.d(fake)).mean())
            og.step()

        def configure_optimizers(self):
            return [torch.optim.Adam(self.g.parameters(), 2e-4), torch.optim.Adam(self.d.parameters(), 2e-4)]

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(512, 3072)), 128)
    L.Trainer(max_epochs=1, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(Both(), data)


@job
def trainer_eval_bf16():
    import tempfile

    from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 96

        def __getitem__(self, i):
            return {"input_ids": torch.randint(0, 10000, (128,)), "attention_mask": torch.ones(128, dtype=torch.long), "labels": torch.tensor(i % 3)}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=16, per_device_eval_batch_size=32, num_train_epochs=1, bf16=True, eval_strategy="epoch", save_strategy="no", report_to=[], gradient_accumulation_steps=2, disable_tqdm=True)
        model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=10000, n_layers=4, num_labels=3))
        Trainer(model, arguments, train_dataset=Rows(), eval_dataset=Rows(), compute_metrics=lambda p: {"n": float(len(p.predictions))}).train()


@job
def accelerate_fp16_scheduler():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="fp16")
    model = nn.Sequential(nn.Conv2d(3, 96, 7, 4), nn.GELU(), nn.Conv2d(96, 384, 3, 2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(384, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(160, 3, 192, 192), torch.randint(0, 10, (160,))), 32)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5))
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


@job
def compiled_lm():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_embd=512, n_layer=3, n_head=8, vocab_size=8000, use_cache=False)).to(device)
    train(torch.compile(model), tokens(4, 256, 8000), lm, amp=torch.bfloat16, steps=3)


@job
def teacher_student():
    import torchvision

    teacher = torchvision.models.resnet50(num_classes=10).to(device).eval()

    def loss_of(m, b):
        with torch.no_grad():
            soft = teacher(b[0])
        out = m(b[0])
        return F.cross_entropy(out, b[1]) + 4 * F.kl_div(F.log_softmax(out / 2, 1), F.softmax(soft / 2, 1), reduction="batchmean")

    train(torchvision.models.mobilenet_v2(num_classes=10), images(48), loss_of, opt=torch.optim.SGD, lr=0.05, momentum=0.9)


@job
def contrastive_queue():
    import torchvision

    net, queue = torchvision.models.resnet18(num_classes=128).to(device), F.normalize(torch.randn(128, 16384, device=device), dim=0)
    momentum = torchvision.models.resnet18(num_classes=128).to(device).requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), 0.03, momentum=0.9)
    for step in range(4):
        a, b = torch.randn(64, 3, 160, 160, device=device), torch.randn(64, 3, 160, 160, device=device)
        q = F.normalize(net(a))
        with torch.no_grad():
            for p, m in zip(net.parameters(), momentum.parameters()):
                m.mul_(0.999).add_(p, alpha=0.001)
            k = F.normalize(momentum(b))
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.clone()], 1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long, device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue[:, step * 64 : step * 64 + 64] = k.T


torch.manual_seed(0)
JOBS[sys.argv[1]]()
