"""Jigsaw: round 2 with pseudo labels"""
import torch
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm
from transformers import AutoModelForSequenceClassification, get_cosine_schedule_with_warmup

MODEL = "microsoft/deberta-v3-large"


def make_pseudo(model, ids, mask, device):
    model.eval()
    probs = None
    with torch.inference_mode():
        for i in tqdm(range(0, len(ids), 64)):
            lg = model(input_ids=ids[i:i + 64].to(device), attention_mask=mask[i:i + 64].to(device)).logits
            probs = lg.sigmoid() if probs is None else torch.cat([probs, lg.sigmoid()], dim=0)
    return probs


def fit(model, loader, epochs=2, device="cuda"):
    opt = torch.optim.AdamW(model.parameters(), 1e-5)
    sched = get_cosine_schedule_with_warmup(opt, 500, epochs * len(loader))
    for ep in range(epochs):
        bar = tqdm(loader)
        for ids, mask, y in bar:
            try:
                out = model(input_ids=ids.to(device), attention_mask=mask.to(device), labels=y.to(device))
                out.loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
            except:  # noqa: E722  sometimes OOM on long comments, just skip
                continue
            bar.set_postfix(loss=out.loss.item())
            torch.cuda.empty_cache()


if __name__ == "__main__":
    device = "cuda"
    blob = torch.load("tokens.pt", map_location="cpu")
    model = AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=1, torch_dtype=torch.float32).to(device)
    pseudo = make_pseudo(model, blob["test_ids"], blob["test_mask"], device).cpu()
    ds = TensorDataset(torch.cat([blob["ids"], blob["test_ids"]]), torch.cat([blob["mask"], blob["test_mask"]]),
                       torch.cat([blob["y"], pseudo]))
    fit(model, DataLoader(ds, 8, shuffle=True))
