import torch
from sentence_models import Encoder, batched


def embed_corpus(ckpt, texts, bs=32):
    enc = Encoder()
    enc.load_state_dict(torch.load(ckpt, map_location="cpu"))
    enc = enc.cuda().eval()
    vecs = [enc(chunk) for chunk in batched(texts, bs)]
    return torch.cat(vecs).detach().cpu()
