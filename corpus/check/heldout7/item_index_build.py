import faiss
import numpy as np
import torch
from torch.utils.data import DataLoader

from catalog import CatalogTexts, ItemTower


class IndexBuilder:
    def __init__(self, ckpt: str, batch: int = 512):
        self.tower = ItemTower("xlm-roberta-base", out=256)
        self.tower.load_state_dict(torch.load(ckpt, map_location="cpu", weights_only=True))
        self.tower.cuda().eval()
        self.batch = batch

    def encode(self, texts) -> torch.Tensor:
        enc = self.tower.tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to("cuda")
        return torch.nn.functional.normalize(self.tower(**enc), dim=-1)

    def embed_catalog(self, path: str) -> np.ndarray:
        loader = DataLoader(CatalogTexts(path), batch_size=self.batch, num_workers=4, collate_fn=list)
        vecs = [self.encode(texts) for texts in loader]
        return torch.cat(vecs).detach().cpu().numpy()

    def build(self, path: str, out: str) -> None:
        x = self.embed_catalog(path).astype("float32")
        index = faiss.index_factory(x.shape[1], "IVF4096,PQ32")
        index.train(x)
        index.add(x)
        faiss.write_index(index, out)


if __name__ == "__main__":
    IndexBuilder("tower.pt").build("catalog.parquet", "items.faiss")
