import torch
import torch.nn.functional as F


def train_steps(gpt, optimizer, train_loader, max_steps, micro_steps):
    gpt.train()
    for step in range(max_steps):
        optimizer.zero_grad(set_to_none=True)
        lossf = 0.0
        for micro in range(micro_steps):
            for tokens in train_loader:
                tokens = tokens.to("cuda", non_blocking=True)
                logits = gpt(tokens[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
                loss = loss / micro_steps
                lossf += loss.item()
                loss.backward()
        torch.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {lossf:.3f}")
