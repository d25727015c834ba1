import math
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def ppl(model, ids, window=2048, stride=512):
    nlls, prev = [], 0
    for begin in range(0, ids.size(1), stride):
        end = min(begin + window, ids.size(1))
        chunk = ids[:, begin:end].to(model.device)
        target = chunk.clone()
        target[:, : -(end - prev)] = -100
        out = model(chunk, labels=target)
        nlls.append(out.loss * (end - prev))
        prev = end
        if end == ids.size(1):
            break
    return math.exp(torch.stack(nlls).sum().item() / end)


def main(name, path):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map="cuda:0")
    ids = tok(open(path).read(), return_tensors="pt").input_ids
    print(ppl(model, ids))


if __name__ == "__main__":
    main(*sys.argv[1:3])
