import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

tok = AutoTokenizer.from_pretrained("intfloat/e5-base")
enc = AutoModel.from_pretrained("intfloat/e5-base").to("cuda")


def embed(sentence):
    batch = tok(sentence, return_tensors="pt", truncation=True).to("cuda")
    return enc(**batch).last_hidden_state[:, 0]


def index(corpus):
    vectors = [embed(s) for s in corpus]
    return np.concatenate([v.detach().cpu().numpy() for v in vectors])


if __name__ == "__main__":
    with open("corpus.txt") as f:
        np.save("index.npy", index(f.read().splitlines()))
