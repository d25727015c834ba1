import json
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "meta-llama/Llama-2-13b-hf"


class Scorer:
    def __init__(self, name=NAME):
        self.tok = AutoTokenizer.from_pretrained(name)
        self.lm = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")
        self.lm.eval()
        self.choices = [self.tok(" " + c, add_special_tokens=False).input_ids[-1] for c in "ABCD"]

    def __call__(self, prompt):
        ids = self.tok(prompt, return_tensors="pt").to("cuda")
        last = self.lm(**ids).logits[0, -1]
        return last[self.choices].float().log_softmax(-1).tolist()


def run(path, out):
    score = Scorer()
    good = n = 0
    with open(path) as src, open(out, "w") as dst:
        for line in src:
            q = json.loads(line)
            lp = score(q["prompt"])
            good += "ABCD"[lp.index(max(lp))] == q["answer"]
            n += 1
            dst.write(json.dumps({"id": q["id"], "lp": lp}) + "\n")
    print(good / n)
