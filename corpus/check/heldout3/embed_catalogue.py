"""Embeds the product catalogue with our image tower and writes it for the search service."""
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from PIL import Image
from torchvision import transforms

from towers import build_image_tower

TFM = transforms.Compose([
    transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])


def batched(items, n):
    for i in range(0, len(items), n):
        yield items[i:i + n]


def load_batch(paths):
    return torch.stack([TFM(Image.open(p).convert("RGB")) for p in paths])


def main(root, out):
    tower = build_image_tower("vitb16").cuda().eval()
    files = sorted(Path(root).glob("**/*.jpg"))
    vectors = {}
    for chunk in batched(files, 128):
        emb = tower(load_batch(chunk).cuda())
        emb = F.normalize(emb, dim=-1)
        for path, e in zip(chunk, emb):
            vectors[path.stem] = e
    names = list(vectors)
    table = torch.stack([vectors[n] for n in names])
    torch.save(table.detach().cpu(), Path(out) / "vectors.pt")
    (Path(out) / "names.json").write_text(json.dumps(names))


if __name__ == "__main__":
    main(*sys.argv[1:3])
