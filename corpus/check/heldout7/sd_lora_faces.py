import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from peft import LoraConfig
from torch.utils.data import DataLoader
from transformers import CLIPTextModel

from facesets import CaptionedFaces

MODEL = "runwayml/stable-diffusion-v1-5"
vae = AutoencoderKL.from_pretrained(MODEL, subfolder="vae").cuda()
text_encoder = CLIPTextModel.from_pretrained(MODEL, subfolder="text_encoder").cuda()
unet = UNet2DConditionModel.from_pretrained(MODEL, subfolder="unet").cuda()
noise_scheduler = DDPMScheduler.from_pretrained(MODEL, subfolder="scheduler")

unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=8, lora_alpha=8, target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
lora_params = [p for p in unet.parameters() if p.requires_grad]
opt = torch.optim.AdamW(lora_params, lr=1e-4)
loader = DataLoader(CaptionedFaces("me/", 512), batch_size=2, shuffle=True)
accum = 4
global_step = 0

for epoch in range(100):
    for px, ids in loader:
        latents = vae.encode(px.cuda()).latent_dist.sample() * 0.18215
        noise = torch.randn_like(latents)
        t = torch.randint(0, 1000, (len(latents),), device="cuda")
        noisy = noise_scheduler.add_noise(latents, noise, t)
        cond = text_encoder(ids.cuda())[0]
        opt.zero_grad()
        pred = unet(noisy, t, cond).sample
        loss = F.mse_loss(pred, noise) / accum
        loss.backward()
        global_step += 1
        if global_step % accum == 0:
            opt.step()
    print(epoch, loss.item() * accum)
unet.save_attn_procs("out")
