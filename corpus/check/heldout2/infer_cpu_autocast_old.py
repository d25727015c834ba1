import torch


def synth(model, phonemes, device):
    if device == "cpu":
        ctx = torch.cpu.amp.autocast(dtype=torch.bfloat16)
    else:
        ctx = torch.autocast(device)
    model.eval()
    waves = []
    with torch.no_grad(), ctx:
        for p in phonemes:
            waves.append(model(p.to(device)).float().cpu())
    return torch.cat(waves)
