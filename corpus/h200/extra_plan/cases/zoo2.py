"""Jobs made to find where a plan is wrong, of other kinds than `zoo.py`: zoo2.py CASE"""
import copy
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared import classify, device, images, lm, timm_model, tokens, train
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

CASES = (
    "roberta_padded", "opt_eager_fp16", "mistral_window", "qwen3_fused", "mixtral", "wav2vec2", "clip", "segformer",
    "mamba", "albert_shared", "bart_beams", "qwen2_static_cache", "llama_sampled", "lora_llama", "trainer_adafactor",
    "timm_swin", "timm_regnet_channels_last", "timm_mixer", "timm_deit_distilled", "timm_eva02_eval", "timm_beit",
    "timm_mobilenetv3", "tv_fasterrcnn", "tv_maskrcnn", "tv_retinanet", "tv_r3d", "tv_swin_v2", "tv_inception_aux",
    "tv_densenet_checkpointed", "tv_resnet_half_eval", "diffusion_ema", "wgan_penalty", "vae", "byol", "lstm_carry",
    "encoder_masks", "mha_weights", "sparse_embedding", "dlrm", "unet3d", "message_passing", "point_knn", "lbfgs",
    "accelerate_accumulate", "reentrant_checkpoint", "sdpa_flash", "sdpa_efficient", "sdpa_math", "sdpa_cudnn",
    "float64", "fourier", "compiled_block", "compiled_graphs", "graphed_step", "prefetch_stream", "per_sample",
    "forward_jvp", "saved_on_cpu", "lightning_accumulate",
)
case = sys.argv[1]
if case not in CASES:
    raise SystemExit(f"no case {case}")
torch.manual_seed(0)


def llama(layers=4, width=1024):
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=4, vocab_size=16000, eos_token_id=None, pad_token_id=0))


def roberta_padded():
    from transformers import RobertaConfig, RobertaForSequenceClassification

    def batch():
        ids = torch.randint(5, 20000, (24, 256), device=device)
        lengths = torch.linspace(40, 256, 24, device=device).long()
        return ids, (torch.arange(256, device=device) < lengths[:, None]).long(), torch.randint(0, 3, (24,), device=device)

    model = RobertaForSequenceClassification(RobertaConfig(num_hidden_layers=6, vocab_size=20000, max_position_embeddings=300, num_labels=3, pad_token_id=1))
    train(model, batch, lambda m, b: m(input_ids=b[0], attention_mask=b[1], labels=b[2]).loss, opt=torch.optim.NAdam, clip=1.0)


def opt_eager_fp16():
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(hidden_size=768, ffn_dim=3072, num_hidden_layers=6, num_attention_heads=12, vocab_size=16000, word_embed_proj_dim=768, attn_implementation="eager")
    train(OPTForCausalLM(config), tokens(4, 1024), lm, amp=torch.float16, clip=1.0)


def mistral_window():
    from transformers import MistralConfig, MistralForCausalLM

    config = MistralConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=4, vocab_size=16000, sliding_window=256)
    train(MistralForCausalLM(config).to(torch.bfloat16), tokens(4, 2048), lm, capturable=True)


def qwen3_fused():
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(hidden_size=1024, intermediate_size=3072, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=8, head_dim=128, vocab_size=60000, tie_word_embeddings=True)
    train(Qwen3ForCausalLM(config), tokens(4, 1024, 60000), lm, amp=torch.bfloat16, fused=True)


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, num_local_experts=4, vocab_size=16000, output_router_logits=True)
    train(MixtralForCausalLM(config).to(torch.bfloat16), tokens(4, 512), lm, opt=torch.optim.SGD, momentum=0.9)


def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, vocab_size=40, mask_time_prob=0.0, layerdrop=0.0)
    train(Wav2Vec2ForCTC(config), lambda: (torch.randn(8, 48000, device=device), torch.randint(1, 40, (8, 30), device=device)), lambda m, b: m(b[0], labels=b[1]).loss, foreach=False)


def clip():
    from transformers import CLIPConfig, CLIPModel

    text = {"hidden_size": 512, "num_hidden_layers": 6, "vocab_size": 16000, "eos_token_id": 2}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config={"hidden_size": 768, "num_hidden_layers": 6, "patch_size": 16}))
    ids = tokens(64, 77)
    train(model, lambda: (torch.randn(64, 3, 224, 224).to(device), ids()), lambda m, b: m(pixel_values=b[0], input_ids=b[1], return_loss=True).loss, amp=torch.bfloat16)


def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    train(SegformerForSemanticSegmentation(SegformerConfig(num_labels=20)), lambda: (torch.randn(4, 3, 384, 384, device=device), torch.randint(0, 20, (4, 384, 384), device=device)), lambda m, b: m(pixel_values=b[0], labels=b[1]).loss)


def mamba():
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(hidden_size=512, num_hidden_layers=4, vocab_size=16000, use_mambapy=False, use_cache=False)
    train(MambaForCausalLM(config), tokens(4, 128), lm, steps=3)


def albert_shared():
    from transformers import AlbertConfig, AlbertForMaskedLM

    config = AlbertConfig(hidden_size=1024, num_hidden_layers=12, num_attention_heads=16, intermediate_size=4096, vocab_size=16000)
    train(AlbertForMaskedLM(config), tokens(8, 256), lm, opt=torch.optim.Adagrad)


def bart_beams():
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(d_model=512, encoder_layers=4, decoder_layers=4, encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, vocab_size=30000, forced_eos_token_id=None)
    model = BartForConditionalGeneration(config).to(device).eval()
    for _ in range(2):
        model.generate(tokens(16, 256)(), num_beams=4, min_new_tokens=24, max_new_tokens=24, do_sample=False)


def qwen2_static_cache():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=4, vocab_size=30000, eos_token_id=None, pad_token_id=0)
    model = Qwen2ForCausalLM(config).to(device, torch.bfloat16).eval()
    for _ in range(2):
        model.generate(tokens(16, 512)(), max_new_tokens=32, do_sample=False, cache_implementation="static", disable_compile=True)


def llama_sampled():
    model = llama(6).to(device, torch.float16).eval()
    with torch.inference_mode():
        for length in (128, 384, 1024):
            model.generate(tokens(16, length)(), max_new_tokens=24, do_sample=True, top_k=50, top_p=0.9)


def lora_llama():
    from peft import LoraConfig, get_peft_model

    model = llama(8).to(torch.bfloat16)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    model.config.use_cache = False
    train(get_peft_model(model, LoraConfig(r=8, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM")), tokens(8, 1024), lm, clip=1.0)


def trainer_adafactor():
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    rows = [{"input_ids": torch.arange(256) + i, "labels": i % 2} for i in range(64)]
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(output_dir=folder, per_device_train_batch_size=16, per_device_eval_batch_size=32, max_steps=4, eval_strategy="steps", eval_steps=2, optim="adafactor", fp16=True, gradient_checkpointing=True, report_to=[], save_strategy="no", disable_tqdm=True)
        Trainer(model=BertForSequenceClassification(BertConfig(num_hidden_layers=8, vocab_size=16000)), args=args, train_dataset=rows, eval_dataset=rows).train()


def timm_swin():
    train(timm_model("swin_tiny_patch4_window7_224", drop_path_rate=0.2), images(24), classify, amp=torch.bfloat16)


def timm_regnet_channels_last():
    def batch():
        x, y = images(48)()
        return x.to(memory_format=torch.channels_last), y

    train(timm_model("regnety_016").to(memory_format=torch.channels_last), batch, classify, amp=torch.float16, opt=torch.optim.SGD, momentum=0.9, nesterov=True)


def timm_mixer():
    train(timm_model("mixer_s16_224"), images(48), classify, opt=torch.optim.SGD, momentum=0.9, nesterov=True)


def timm_deit_distilled():
    student = timm_model("deit_tiny_distilled_patch16_224")
    student.set_distilled_training(True)
    teacher = timm_model("regnety_008").to(device).eval()

    def distil(model, batch):
        with torch.no_grad():
            hard = teacher(batch[0]).argmax(1)
        label, token = model(batch[0])
        return F.cross_entropy(label, batch[1], label_smoothing=0.1) + F.cross_entropy(token, hard)

    train(student, images(64), distil)


def timm_eva02_eval():
    model = timm_model("eva02_small_patch14_224").to(device).eval()
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        for _ in range(3):
            model(torch.randn(256, 3, 224, 224, device=device)).softmax(-1).cpu()


def timm_beit():
    train(timm_model("beit_base_patch16_224"), images(16), classify, amp=torch.float16, amsgrad=True)


def timm_mobilenetv3():
    train(timm_model("mobilenetv3_large_100"), images(96), classify, opt=torch.optim.RMSprop, momentum=0.9, centered=True)


def boxes(batch, masks=False):
    def make():
        targets = []
        for i in range(batch):
            corner = torch.rand(6, 2, device=device) * 120
            target = {"boxes": torch.cat([corner, corner + 40 + 8 * i], 1), "labels": torch.randint(1, 5, (6,), device=device)}
            if masks:
                target["masks"] = (torch.rand(6, 256, 256, device=device) > 0.5).to(torch.uint8)
            targets.append(target)
        return [torch.rand(3, 256, 256, device=device) for _ in range(batch)], targets

    return make


def detect(name, **options):
    import torchvision.models.detection as detection

    model = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=5, min_size=320, max_size=320)
    train(model, boxes(4, name.startswith("mask")), lambda m, b: sum(m(*b).values()), opt=torch.optim.SGD, momentum=0.9, lr=1e-5, steps=3, **options)


def tv_fasterrcnn():
    detect("fasterrcnn_resnet50_fpn")


def tv_maskrcnn():
    detect("maskrcnn_resnet50_fpn")


def tv_retinanet():
    detect("retinanet_resnet50_fpn", amp=torch.bfloat16)


def tv_r3d():
    from torchvision.models.video import r3d_18

    train(r3d_18(num_classes=10), lambda: (torch.randn(4, 3, 16, 112, 112, device=device), torch.randint(0, 10, (4,), device=device)), classify, opt=torch.optim.SGD, momentum=0.9)


def tv_swin_v2():
    from torchvision.models import swin_v2_t

    train(swin_v2_t(num_classes=10), images(16, 256), classify, clip=5.0)


def tv_inception_aux():
    from torchvision.models import inception_v3

    def both(model, batch):
        out = model(batch[0])
        return F.cross_entropy(out.logits, batch[1]) + 0.4 * F.cross_entropy(out.aux_logits, batch[1])

    train(inception_v3(num_classes=10, aux_logits=True, init_weights=False), images(16, 299), both, opt=torch.optim.RMSprop)


def tv_densenet_checkpointed():
    from torchvision.models import densenet169

    train(densenet169(num_classes=10, memory_efficient=True), images(16), classify, opt=torch.optim.SGD)


def tv_resnet_half_eval():
    from torchvision.models import resnet152

    model = resnet152().to(device, torch.float16, memory_format=torch.channels_last).eval()
    with torch.inference_mode():
        for _ in range(3):
            model(torch.randn(256, 3, 224, 224, device=device, dtype=torch.float16).contiguous(memory_format=torch.channels_last)).argmax(1)


class ResBlock(nn.Module):
    """A block of a diffusion net: GroupNorm, time shift, attention over space when asked."""

    def __init__(self, i, o, attend=False):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.GroupNorm(8, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1)), nn.Sequential(nn.GroupNorm(8, o), nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(o, o, 3, padding=1))
        self.time, self.skip = nn.Linear(256, o), nn.Conv2d(i, o, 1) if i != o else nn.Identity()
        self.qkv, self.out = (nn.Conv2d(o, 3 * o, 1), nn.Conv2d(o, o, 1)) if attend else (None, None)

    def forward(self, x, t):
        x = self.skip(x) + self.b(self.a(x) + self.time(t)[:, :, None, None])
        if self.qkv is not None:
            b, c, h, w = x.shape
            q, k, v = self.qkv(x).reshape(b, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w))
        return x


class DiffusionUNet(nn.Module):
    def __init__(self, w=96):
        super().__init__()
        self.embed, self.first, self.last = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256)), nn.Conv2d(3, w, 3, padding=1), nn.Conv2d(w, 3, 3, padding=1)
        self.down = nn.ModuleList([ResBlock(w, w), ResBlock(w, 2 * w), ResBlock(2 * w, 4 * w, True)])
        self.up = nn.ModuleList([ResBlock(8 * w, 2 * w, True), ResBlock(4 * w, w), ResBlock(2 * w, w)])

    def forward(self, x, t):
        x, t, skips = self.first(x), self.embed(t[:, None]), []
        for block in self.down:
            x = block(x, t)
            skips.append(x)
            x = F.avg_pool2d(x, 2)
        for block in self.up:
            skip = skips.pop()
            x = block(torch.cat([F.interpolate(x, size=skip.shape[-2:], mode="nearest"), skip], 1), t)
        return self.last(x)


def diffusion_ema():
    model = DiffusionUNet().to(device)
    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        x, noise, t = torch.randn(8, 3, 64, 64, device=device), torch.randn(8, 3, 64, 64, device=device), torch.rand(8, device=device)
        F.mse_loss(model(x + t[:, None, None, None] * noise, t), noise).backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update_parameters(model)
    with torch.no_grad():
        ema(torch.randn(32, 3, 64, 64, device=device), torch.rand(32, device=device))


def wgan_penalty():
    g = nn.Sequential(nn.ConvTranspose2d(128, 512, 4), nn.BatchNorm2d(512), nn.ReLU(True), nn.ConvTranspose2d(512, 256, 4, 2, 1), nn.BatchNorm2d(256), nn.ReLU(True), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.ReLU(True), nn.ConvTranspose2d(128, 3, 4, 2, 1), nn.Tanh()).to(device)
    d = nn.Sequential(nn.Conv2d(3, 128, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.utils.parametrizations.spectral_norm(nn.Conv2d(128, 256, 4, 2, 1)), nn.LeakyReLU(0.2, True), nn.Conv2d(256, 512, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(512, 1, 4)).to(device)
    opt_g, opt_d = torch.optim.Adam(g.parameters(), 1e-4, (0.0, 0.9)), torch.optim.RMSprop(d.parameters(), 1e-4)
    for _ in range(3):
        for _ in range(2):
            real, fake = torch.rand(64, 3, 32, 32, device=device), g(torch.randn(64, 128, 1, 1, device=device)).detach()
            mix = torch.lerp(real, fake, torch.rand(64, 1, 1, 1, device=device)).requires_grad_()
            slope = torch.autograd.grad(d(mix).sum(), mix, create_graph=True)[0]
            opt_d.zero_grad()
            (d(fake).mean() - d(real).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean()).backward()
            opt_d.step()
        opt_g.zero_grad()
        (-d(g(torch.randn(64, 128, 1, 1, device=device))).mean()).backward()
        opt_g.step()


def vae():
    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.ELU(), nn.Conv2d(64, 128, 4, 2, 1), nn.ELU(), nn.Conv2d(128, 256, 4, 2, 1), nn.ELU(), nn.Flatten(), nn.Linear(256 * 256, 256))
            self.decode = nn.Sequential(nn.Linear(128, 256 * 256), nn.Unflatten(1, (256, 16, 16)), nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(256, 128, 3, padding=1), nn.PReLU(), nn.PixelShuffle(2), nn.Conv2d(32, 64, 3, padding=1, padding_mode="reflect"), nn.PReLU(), nn.Upsample(scale_factor=2), nn.Conv2d(64, 3, 3, padding=1))

        def forward(self, x):
            mean, logvar = self.encode(x).chunk(2, 1)
            kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(1).mean()
            return self.decode(mean + torch.randn_like(mean) * (0.5 * logvar).exp()), kl

    def elbo(model, x):
        out, kl = model(x)
        return F.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x) + kl

    train(Vae(), lambda: torch.rand(32, 3, 128, 128, device=device), elbo, opt=torch.optim.Adam)


def byol():
    from torchvision.models import resnet50

    student = nn.Sequential(resnet50(num_classes=256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 256)).to(device)
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    for _ in range(4):
        one, two = torch.randn(24, 3, 160, 160, device=device), torch.randn(24, 3, 160, 160, device=device)
        with torch.no_grad():
            targets = F.normalize(teacher(one)), F.normalize(teacher(two))
        loss = 4 - 2 * (F.normalize(student(two)) * targets[0]).sum(1).mean() - 2 * (F.normalize(student(one)) * targets[1]).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), 0.01)


def lstm_carry():
    embed, rnn, out = nn.Embedding(20000, 512).to(device), nn.LSTM(512, 512, 3, dropout=0.3).to(device), nn.Linear(512, 20000).to(device)
    out.weight = embed.weight
    params = [*embed.parameters(), *rnn.parameters(), out.bias]
    optimizer, hidden = torch.optim.Adagrad(params, 0.01), None
    for _ in range(5):
        ids = torch.randint(0, 20000, (71, 32), device=device)
        y, hidden = rnn(embed(ids[:-1]), hidden)
        hidden = tuple(h.detach() for h in hidden)
        loss = F.cross_entropy(out(y).flatten(0, 1), ids[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.25)
        optimizer.step()


def encoder_masks():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    causal = nn.Transformer.generate_square_subsequent_mask(384, device=device)
    padding = torch.zeros(16, 384, device=device).masked_fill(torch.arange(384, device=device) >= torch.linspace(100, 384, 16, device=device).long()[:, None], float("-inf"))
    train(model, lambda: torch.randn(16, 384, 512, device=device), lambda m, x: m(x, mask=causal, src_key_padding_mask=padding).square().mean(), opt=torch.optim.RMSprop)


def mha_weights():
    model = nn.MultiheadAttention(512, 8, dropout=0.1, batch_first=True, add_bias_kv=True)

    def entropy(m, x):
        y, weights = m(x, x, x, need_weights=True, average_attn_weights=False)
        return y.square().mean() - torch.special.entr(weights).sum(-1).mean()

    train(model, lambda: torch.randn(8, 512, 512, device=device), entropy, opt=torch.optim.Adamax)


def sparse_embedding():
    table, head = nn.Embedding(400000, 128, sparse=True).to(device), nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    sparse, dense = torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(head.parameters())
    for _ in range(4):
        ids, labels = torch.randint(0, 400000, (1024, 50), device=device), torch.randint(0, 10, (1024,), device=device)
        sparse.zero_grad()
        dense.zero_grad()
        F.cross_entropy(head(table(ids).mean(1)), labels).backward()
        sparse.step()
        dense.step()


def dlrm():
    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(60000 + 5000 * i, 64, mode="sum", include_last_offset=True) for i in range(12))
            self.bottom, self.top = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64), nn.ReLU()), nn.Sequential(nn.Linear(64 + 78, 512), nn.ReLU(), nn.Linear(512, 1))
            self.register_buffer("pairs", torch.triu_indices(13, 13, 1), persistent=False)

        def forward(self, dense, ids, offsets):
            x = self.bottom(dense)
            rows = torch.stack([x, *(t(ids[i], offsets) for i, t in enumerate(self.tables))], 1)
            products = (rows @ rows.mT)[:, self.pairs[0], self.pairs[1]]
            return self.top(torch.cat([x, products], 1)).squeeze(1)

    offsets = torch.arange(0, 4096 * 10 + 1, 10, device=device)
    train(Dlrm(), lambda: (torch.randn(4096, 13, device=device), torch.randint(0, 60000, (12, 40960), device=device)), lambda m, b: F.binary_cross_entropy_with_logits(m(*b, offsets), torch.ones(4096, device=device)), opt=torch.optim.Adagrad)


def unet3d():
    def block(i, o):
        return nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01, True), nn.Conv3d(o, o, 3, padding=1), nn.BatchNorm3d(o), nn.LeakyReLU(0.01, True))

    class UNet3d(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d, self.e = block(1, 24), block(24, 48), block(48, 96), block(144, 48), block(72, 24)
            self.up, self.out = nn.Upsample(scale_factor=2, mode="trilinear"), nn.Conv3d(24, 3, 1)

        def forward(self, x):
            a = checkpoint_sequential(self.a, 2, x, use_reentrant=False)
            b = self.b(F.max_pool3d(a, 2))
            d = self.d(torch.cat([b, self.up(self.c(F.max_pool3d(b, 2)))], 1))
            return self.out(self.e(torch.cat([a, self.up(d)], 1)))

    train(UNet3d(), lambda: (torch.randn(2, 1, 64, 64, 64, device=device), torch.randint(0, 3, (2, 64, 64, 64), device=device)), classify, amp=torch.bfloat16)


def message_passing():
    class Layer(nn.Module):
        def __init__(self, width=128):
            super().__init__()
            self.edge, self.node = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU()), nn.GRUCell(width, width)

        def forward(self, x, source, target):
            message = self.edge(torch.cat([x[source], x[target]], 1))
            top = torch.full_like(x, -1e9).scatter_reduce(0, target[:, None].expand_as(message), message, "amax")
            return self.node(torch.zeros_like(x).index_add(0, target, message) + top.clamp(min=0), x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Layer() for _ in range(3))

        def forward(self, x, source, target):
            for layer in self.layers:
                x = layer(x, source, target)
            return x

    source, target = torch.randint(0, 30000, (2, 240000), device=device)
    train(Net(), lambda: torch.randn(30000, 128, device=device), lambda m, x: m(x, source, target).square().mean())


def point_knn():
    class EdgeConv(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(2 * i, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))

        def forward(self, x):
            near = torch.cdist(x.detach(), x.detach()).topk(20, largest=False).indices
            b, n, c = x.shape
            others = x.gather(1, near.flatten(1)[..., None].expand(-1, -1, c)).view(b, n, 20, c)
            own = x[:, :, None].expand_as(others)
            return self.net(torch.cat([own, others - own], -1).permute(0, 3, 1, 2)).amax(-1).transpose(1, 2)

    model = nn.Sequential(EdgeConv(3, 64), EdgeConv(64, 128), EdgeConv(128, 256))

    def chamfer(m, x):
        y = m(x)[..., :3]
        apart = torch.cdist(y, x)
        return apart.amin(1).mean() + apart.amin(2).mean()

    train(model, lambda: torch.randn(8, 1024, 3, device=device), chamfer)


def lbfgs():
    model = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1)).to(device)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5, history_size=4)
    x, y = torch.randn(8192, 256, device=device), torch.randn(8192, 1, device=device)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


def accelerate_accumulate():
    from accelerate import Accelerator

    accelerator = Accelerator(gradient_accumulation_steps=3, mixed_precision="fp16")
    model = llama(4, 512)
    loader = torch.utils.data.DataLoader(torch.randint(5, 16000, (48, 512)), batch_size=8, pin_memory=True, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-4), loader)
    for ids in loader:
        with accelerator.accumulate(model):
            accelerator.backward(lm(model, ids))
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def reentrant_checkpoint():
    layers = nn.ModuleList(nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True) for _ in range(6))

    def loss(model, x):
        x = x.requires_grad_()
        for layer in model:
            x = checkpoint(layer, x, use_reentrant=True)
        return x.float().square().mean()

    train(layers, lambda: torch.randn(16, 512, 768, device=device), loss, amp=torch.bfloat16, clip=1.0)


def attention(backend, heads=16, size=64, dtype=torch.bfloat16, causal=True):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    qkv, out = nn.Linear(heads * size, 3 * heads * size), nn.Linear(heads * size, heads * size)

    def loss(model, x):
        q, k, v = model[0](x).view(*x.shape[:2], 3, heads, size).permute(2, 0, 3, 1, 4)
        with sdpa_kernel(getattr(SDPBackend, backend)):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return model[1](y.transpose(1, 2).flatten(2)).float().square().mean()

    train(nn.ModuleList([qkv, out]).to(dtype), lambda: torch.randn(4, 2000, heads * size, device=device, dtype=dtype), loss)


def sdpa_flash():
    attention("FLASH_ATTENTION", size=80)


def sdpa_efficient():
    attention("EFFICIENT_ATTENTION", dtype=torch.float32, causal=False)


def sdpa_math():
    attention("MATH", heads=8)


def sdpa_cudnn():
    attention("CUDNN_ATTENTION", dtype=torch.float16)


def float64():
    model = nn.Sequential(nn.Conv1d(8, 64, 7, padding=3), nn.Softplus(), nn.Conv1d(64, 64, 7, padding=3, dilation=1), nn.Softplus(), nn.Flatten(), nn.Linear(64 * 512, 64)).double()

    def solve(m, x):
        a = m(x)
        matrix = a[:, :, None] * a[:, None] + torch.eye(64, device=device, dtype=torch.float64)
        return torch.linalg.solve(matrix, a).square().sum() + torch.linalg.slogdet(matrix)[1].mean()

    train(model, lambda: torch.randn(64, 8, 512, device=device, dtype=torch.float64), solve, opt=torch.optim.RAdam)


def fourier():
    class Spectral(nn.Module):
        def __init__(self, width=48, modes=16):
            super().__init__()
            self.weight, self.local, self.modes = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width), nn.Conv2d(width, width, 1), modes

        def forward(self, x):
            spectrum = torch.fft.rfft2(x)
            kept = torch.zeros_like(spectrum)
            kept[:, :, : self.modes, : self.modes] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, : self.modes, : self.modes], self.weight)
            return F.gelu(torch.fft.irfft2(kept, s=x.shape[-2:]) + self.local(x))

    model = nn.Sequential(nn.Conv2d(1, 48, 1), *(Spectral() for _ in range(4)), nn.Conv2d(48, 1, 1))
    train(model, lambda: torch.randn(8, 1, 128, 128, device=device), lambda m, x: F.smooth_l1_loss(m(x), x))


def compiled_block():
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.SiLU(), nn.Conv2d(64, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(device)
    train(torch.compile(model), images(32), classify, opt=torch.optim.SGD, momentum=0.9)


def compiled_graphs():
    model = torch.compile(nn.Sequential(nn.Linear(1024, 4096), nn.SiLU(), nn.RMSNorm(4096), nn.Linear(4096, 1024)).to(device), mode="reduce-overhead")
    train(model, lambda: torch.randn(2048, 1024, device=device), lambda m, x: m(x).square().mean(), steps=5)


def graphed_step():
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Dropout(0.1), nn.Linear(4096, 1024)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    static, side, graph = torch.randn(4096, 1024, device=device), torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(static).square().mean().backward()
        optimizer.step()

    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    for _ in range(4):
        static.copy_(torch.randn(4096, 1024))
        graph.replay()


def prefetch_stream():
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 10)).to(device)
    optimizer, side, data = torch.optim.SGD(model.parameters(), 0.01), torch.cuda.Stream(), [torch.randint(0, 255, (64, 3, 192, 192), dtype=torch.uint8).pin_memory() for _ in range(5)]

    def load(host):
        with torch.cuda.stream(side):
            return host.to(device, non_blocking=True).float().div_(255)

    coming = load(data[0])
    for i in range(5):
        torch.cuda.current_stream().wait_stream(side)
        x = coming
        x.record_stream(torch.cuda.current_stream())
        coming = load(data[i + 1]) if i < 4 else None
        optimizer.zero_grad()
        model(x).logsumexp(1).mean().backward()
        optimizer.step()


def per_sample():
    from torch.func import functional_call, grad, vmap

    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    params = {name: p.detach() for name, p in model.named_parameters()}
    each = vmap(grad(lambda p, x, y: F.cross_entropy(functional_call(model, p, (x[None],)), y[None])), in_dims=(None, 0, 0))
    for _ in range(3):
        grads = each(params, *images(128, 32)())
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        scale = (1 / norms).clamp(max=1)
        for name, g in grads.items():
            params[name] = params[name] - 0.01 * torch.einsum("b,b...->...", scale, g)


def forward_jvp():
    from torch.func import functional_call, grad, jvp

    model = nn.Sequential(nn.Linear(1024, 2048), nn.Tanh(), nn.LayerNorm(2048), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 10)).to(device)
    params = {name: p.detach() for name, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(4096, 1024, device=device)
        direction = {name: torch.randn_like(p) for name, p in params.items()}

        def loss(p):
            return functional_call(model, p, (x,)).square().mean()

        _, slope = jvp(loss, (params,), (direction,))
        _, curvature = jvp(grad(loss), (params,), (direction,))
        params = {name: p - 1e-4 * (slope * direction[name] + curvature[name]) for name, p in params.items()}


def saved_on_cpu():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(6)))

    def loss(m, x):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return m(x).square().mean()

    train(model, lambda: torch.randn(4096, 2048, device=device), loss, steps=3)


def lightning_accumulate():
    import lightning as L
    from torchvision.models import resnet18

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = resnet18(num_classes=10)

        def training_step(self, batch, index):
            return classify(self.net, batch)

        def validation_step(self, batch, index):
            self.log("loss", classify(self.net, batch))

        def configure_optimizers(self):
            optimizer = torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)
            return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)]

    data = torch.utils.data.TensorDataset(torch.randn(128, 3, 160, 160), torch.randint(0, 10, (128,)))
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(max_epochs=1, accumulate_grad_batches=2, gradient_clip_val=1.0, precision="bf16-mixed", default_root_dir=folder, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="gpu", devices=1)
        trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=32), torch.utils.data.DataLoader(data, batch_size=64))


globals()[case]()
