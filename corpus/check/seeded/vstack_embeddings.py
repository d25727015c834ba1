import torch
from tqdm import tqdm


def embed_users(tower, frames):
    emb = torch.tensor([], device="cuda")
    for f in tqdm(frames):
        with torch.no_grad():
            e = tower(f.to("cuda"))
        emb = torch.vstack((emb, e))
    return emb.cpu().numpy()
