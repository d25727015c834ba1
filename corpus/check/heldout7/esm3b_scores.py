# env: transformers==4.38, RTX 3090 24GB. "CUDA out of memory" already when the model is loaded + one sequence of 900 aa
import argparse

import torch
from transformers import AutoTokenizer, EsmForMaskedLM


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("fasta")
    ap.add_argument("--model", default="facebook/esm2_t36_3B_UR50D")
    return ap.parse_args()


def read_fasta(path):
    name, seq = None, []
    for line in open(path):
        if line.startswith(">"):
            if name:
                yield name, "".join(seq)
            name, seq = line[1:].split()[0], []
        else:
            seq.append(line.strip())
    if name:
        yield name, "".join(seq)


def main():
    args = parse()
    tok = AutoTokenizer.from_pretrained("facebook/esm2_t36_3B_UR50D")
    model = EsmForMaskedLM.from_pretrained("facebook/esm2_t36_3B_UR50D")
    model = model.to("cuda").eval()
    with torch.inference_mode():
        for name, seq in read_fasta(args.fasta):
            ids = tok(seq, return_tensors="pt").input_ids.cuda()
            lp = model(ids).logits.log_softmax(-1)
            print(name, lp.gather(-1, ids[..., None]).mean().item())


if __name__ == "__main__":
    main()
