import sys

import esm
import torch
from Bio import SeqIO

model, alphabet = esm.pretrained.esm2_t33_650M_UR50D()
batch_converter = alphabet.get_batch_converter()
model = model.cuda().eval()

records = [(r.id, str(r.seq)[:1022]) for r in SeqIO.parse(sys.argv[1], "fasta")]
print(len(records), "proteins")


def batches(items, n):
    items = sorted(items, key=lambda t: len(t[1]))
    for i in range(0, len(items), n):
        yield items[i:i + n]


embeddings = {}
for chunk in batches(records, 8):
    names, seqs, toks = batch_converter(chunk)
    res = model(toks.cuda(), repr_layers=[33])
    rep = res["representations"][33]
    for i, (nm, s) in enumerate(chunk):
        embeddings[nm] = rep[i, 1:len(s) + 1].mean(0)
    if len(embeddings) % 800 == 0:
        print(len(embeddings), torch.cuda.memory_allocated() / 2**30, "GiB")

torch.save({k: v.detach().cpu() for k, v in embeddings.items()}, "emb.pt")
