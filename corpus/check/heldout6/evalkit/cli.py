import argparse
import json

from transformers import AutoModelForCausalLM, AutoTokenizer

from evalkit import Runner


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--tasks", nargs="+", default=["arc", "piqa"])
    a = p.parse_args()
    tok = AutoTokenizer.from_pretrained(a.model, padding_side="left")
    lm = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype="auto")
    print(json.dumps(Runner(lm, tok).run(a.tasks), indent=2))


if __name__ == "__main__":
    main()
