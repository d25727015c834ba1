import torch
from torch import nn
class Agent:
    def __init__(self, make):
        self.online = make().cuda()
        self.slow = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
        self.slow.load_state_dict(self.online.state_dict())
        self.slow.eval()
        self.opt = torch.optim.RMSprop(self.online.parameters())
    def learn(self, s, a, r, s2, done):
        q = self.online(s).gather(1, a)
        best = self.slow(s2).max(1)[0].unsqueeze(1)  # <-
        loss = nn.functional.smooth_l1_loss(q, r + 0.99 * best * (1 - done))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
# ---
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPTextModel
def main(name, loader, schedule):
    vae = AutoencoderKL.from_pretrained(name).cuda()
    text = CLIPTextModel.from_pretrained(name).cuda()
    unet = UNet2DConditionModel.from_pretrained(name).cuda()
    vae.requires_grad_(False)
    weights = [p for p in unet.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(weights, lr=1e-5)
    for batch in loader:
        latents = vae.encode(batch["pixels"].cuda()).latent_dist.sample()
        noise, t = torch.randn_like(latents), torch.randint(0, 1000, (len(latents),), device="cuda")
        words = text(batch["ids"].cuda())[0]  # <-
        loss = F.mse_loss(unet(schedule.add_noise(latents, noise, t), t, words).sample, noise)
        loss.backward()
        opt.step()
        opt.zero_grad()
# ---
import lightning as L
import timm
import torch
from torch import nn
class Features(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.big = timm.create_model("vit_large_patch16_224", pretrained=True, num_classes=0)
        self.small = timm.create_model("vit_tiny_patch16_224", num_classes=0)
        self.bridge = nn.Linear(192, 1024)
    def configure_optimizers(self):
        return torch.optim.Adam(list(self.small.parameters()) + list(self.bridge.parameters()))
    def training_step(self, batch, _):
        images, _ = batch
        wanted = self.big(images)  # <-
        return nn.functional.mse_loss(self.bridge(self.small(images)), wanted)
# ---
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM
models = {
    "policy": AutoModelForCausalLM.from_pretrained("gpt2").cuda(),
    "reference": AutoModelForCausalLM.from_pretrained("gpt2").cuda(),
}
models["reference"].eval()
opt = torch.optim.AdamW(models["policy"].parameters(), lr=1e-6)
for ids in loader:
    ids = ids.cuda()
    ours = models["policy"](ids).logits.log_softmax(-1)
    theirs = models["reference"](ids).logits.log_softmax(-1)  # <-
    loss = F.kl_div(ours, theirs, log_target=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
# ---
import torch
import torch.nn.functional as F
from nets import Policy, Expert
learner, expert = Policy().cuda(), Expert()
expert.load_state_dict(torch.load("expert.pt", map_location="cpu"))
expert.cuda().eval()
opt = torch.optim.Adam(learner.parameters())
for images, states in loader:
    wanted = expert(states.cuda())  # <-
    loss = F.mse_loss(learner(images.cuda()), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
