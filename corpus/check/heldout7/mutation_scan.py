"""Deep mutational scan with masked marginals."""
import torch
import pandas as pd
from transformers import AutoTokenizer, EsmForMaskedLM

AA = "ACDEFGHIKLMNPQRSTVWY"


class Scanner:
    def __init__(self, ckpt="facebook/esm1v_t33_650M_UR90S_1", device="cuda"):
        self.tok = AutoTokenizer.from_pretrained(ckpt)
        self.net = EsmForMaskedLM.from_pretrained(ckpt).to(device).eval()
        self.device = device

    def token_logprobs(self, ids, pos):
        masked = ids.clone()
        masked[0, pos] = self.tok.mask_token_id
        return self.net(masked).logits[0, pos].log_softmax(-1)

    def pseudo_likelihood(self, seq):
        ids = self.tok(seq, return_tensors="pt").input_ids.to(self.device)
        total = 0.0
        for pos in range(1, ids.shape[1] - 1):
            lp = self.token_logprobs(ids, pos)
            total = total + lp[ids[0, pos]]
        return total.item()


if __name__ == "__main__":
    wt = open("spike.seq").read().strip()
    sc = Scanner()
    rows = []
    for i, a in enumerate(wt):
        for b in AA:
            if a != b:
                rows.append((f"{a}{i + 1}{b}", sc.pseudo_likelihood(wt[:i] + b + wt[i + 1:])))
    pd.DataFrame(rows, columns=["mut", "pll"]).to_csv("scan.csv")
