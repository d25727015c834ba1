"""The example of denoising-diffusion-pytorch's README, with fewer channels: its own Trainer on a folder of images."""

import sys

from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet

model = Unet(dim=64, dim_mults=(1, 2, 4, 8), flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=64, timesteps=1000, sampling_timesteps=4)
trainer = Trainer(
    diffusion,
    sys.argv[1],
    train_batch_size=32,
    train_lr=8e-5,
    train_num_steps=40,
    gradient_accumulate_every=2,
    ema_decay=0.995,
    amp=False,
    calculate_fid=False,
    num_samples=4,
    results_folder="/tmp/diffusion_results",
)
trainer.train()
