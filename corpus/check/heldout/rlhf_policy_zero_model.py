import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def ppo_loss(policy, batch, clip=0.2):
    logp = policy(batch["ids"], attention_mask=batch["mask"]).logp
    ratio = (logp - batch["old_logp"]).exp()
    adv = batch["adv"]
    return -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()


def rollout_epoch(policy, dataset, lr=1e-6, accum=16):
    accelerator = Accelerator(gradient_accumulation_steps=accum)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=lr)
    loader = DataLoader(dataset, batch_size=1, shuffle=True)
    policy, optimizer, loader = accelerator.prepare(policy, optimizer, loader)

    for batch in loader:
        with accelerator.accumulate(policy):
            loss = ppo_loss(policy, batch)
            policy.zero_grad()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
