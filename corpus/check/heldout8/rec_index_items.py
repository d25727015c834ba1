import torch
from torch import nn

from shop import ItemTower, catalogue


def embed_catalogue(tower: nn.Module, bs=2048):
    tower.eval()
    vectors = torch.empty(len(catalogue), 128)
    for s in range(0, len(catalogue), bs):
        feats = catalogue.features(s, s + bs).cuda()
        vectors[s:s + len(feats)] = tower(feats).detach().cpu()
    return vectors


if __name__ == "__main__":
    tower = nn.DataParallel(ItemTower()).cuda()
    tower.module.load_state_dict(torch.load("tower.pt", map_location="cpu"))
    torch.save(embed_catalogue(tower), "index.pt")
