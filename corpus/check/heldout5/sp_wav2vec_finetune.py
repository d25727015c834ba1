import torch
from datasets import load_from_disk
from torch.utils.data import DataLoader
from torch.cuda.amp import GradScaler, autocast
from transformers import Wav2Vec2ForCTC

GRAD_ACC = 8


def main():
    ds = load_from_disk("cv_sw").with_format("torch")
    dl = DataLoader(ds, batch_size=4, shuffle=True)
    model = Wav2Vec2ForCTC.from_pretrained("facebook/wav2vec2-xls-r-1b", vocab_size=48, torch_dtype=torch.float32)
    model.freeze_feature_encoder()
    model.gradient_checkpointing_enable()
    model.cuda().train()
    opt = torch.optim.AdamW(model.parameters(), 3e-5)
    scaler = GradScaler()
    stats = []
    opt.zero_grad()
    for ep in range(10):
        for i, b in enumerate(dl):
            with autocast():
                loss = model(b["input_values"].cuda(), labels=b["labels"].cuda()).loss / GRAD_ACC
            scaler.scale(loss).backward()
            if (i + 1) % GRAD_ACC == 0 or i + 1 == len(dl):
                scaler.step(opt)
                opt.zero_grad()
            stats.append(loss.item())
        print(ep, sum(stats) / len(stats))


if __name__ == "__main__":
    main()
