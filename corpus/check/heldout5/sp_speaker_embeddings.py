"""Extract x-vectors for the whole call archive and score trials."""
from pathlib import Path
from typing import Iterable

import torch
import torchaudio

EMB: dict[str, torch.Tensor] = {}


def utterances(root: Path) -> Iterable[tuple[str, torch.Tensor]]:
    for p in root.rglob("*.flac"):
        wav, sr = torchaudio.load(str(p))
        yield p.stem, torchaudio.functional.resample(wav, sr, 16000)


@torch.no_grad()
def extract(model, root: Path) -> None:
    model.eval()
    for key, wav in utterances(root):
        EMB[key] = model.frames(wav.cuda())


def score(trials: Path) -> list[float]:
    out = []
    for line in trials.read_text().splitlines():
        a, b, _ = line.split()
        ea, eb = EMB[a].mean(1), EMB[b].mean(1)
        out.append(torch.cosine_similarity(ea, eb).item())
    return out


def cohort_matrix(keys: list[str]) -> torch.Tensor:
    e = torch.stack([EMB[k].mean(1)[0] for k in keys])
    diff = e.unsqueeze(1) - e.unsqueeze(0)
    return diff.norm(dim=2)


def main() -> None:
    model = torch.jit.load("xvector.ts", map_location="cuda")
    extract(model, Path("/archive/calls"))
    print(sum(score(Path("trials.txt"))))
    torch.save(cohort_matrix(sorted(EMB)[:20000]).cpu(), "cohort.pt")


if __name__ == "__main__":
    main()
