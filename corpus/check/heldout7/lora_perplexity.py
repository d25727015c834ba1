import math

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(base, adapter):
    m = AutoModelForCausalLM.from_pretrained(base, torch_dtype=torch.float16, device_map={"": 0})
    m = PeftModel.from_pretrained(m, adapter, is_trainable=True)
    m = m.eval()
    return m, AutoTokenizer.from_pretrained(base)


def perplexity(model, tok, text, window=1024, stride=512):
    ids = tok(text, return_tensors="pt").input_ids.to("cuda")
    nlls = []
    prev_end = 0
    for begin in range(0, ids.size(1), stride):
        end = min(begin + window, ids.size(1))
        target_len = end - prev_end
        chunk = ids[:, begin:end]
        target = chunk.clone()
        target[:, :-target_len] = -100
        outputs = model(chunk, labels=target)
        nlls.append(outputs.loss)
        prev_end = end
        if end == ids.size(1):
            break
    return math.exp(torch.stack(nlls).mean().item())


if __name__ == "__main__":
    for name in ("lora-0", "lora-1", "lora-2"):
        model, tok = load("mistralai/Mistral-7B-v0.1", name)
        print(name, perplexity(model, tok, open("heldout_story.txt").read()))
        del model
