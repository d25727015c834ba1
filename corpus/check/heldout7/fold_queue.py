import functools
import json
import sys

import torch
from transformers import AutoTokenizer, EsmModel

tok = AutoTokenizer.from_pretrained("facebook/esm2_t30_150M_UR50D")
plm = EsmModel.from_pretrained("facebook/esm2_t30_150M_UR50D").to("cuda").eval()


@functools.lru_cache(maxsize=None)
def residue_embedding(seq):
    """Sequences repeat a lot in the queue, do not compute them twice."""
    enc = tok(seq, return_tensors="pt").to("cuda")
    with torch.no_grad():
        return plm(**enc).last_hidden_state[0, 1:-1]


def interface_score(a, b):
    ea, eb = residue_embedding(a), residue_embedding(b)
    sim = torch.nn.functional.normalize(ea, dim=-1) @ torch.nn.functional.normalize(eb, dim=-1).T
    return sim.topk(min(50, sim.numel() // sim.shape[0]), dim=-1).values.mean().item()


def main():
    for line in sys.stdin:
        job = json.loads(line)
        s = interface_score(job["chain_a"], job["chain_b"])
        print(json.dumps({"id": job["id"], "score": s}), flush=True)


if __name__ == "__main__":
    main()
