from typing import Iterable

import torch
import torch.nn.functional as F
from transformers import Wav2Vec2Config, Wav2Vec2Model

BIG = "facebook/wav2vec2-large-960h"


def students() -> Wav2Vec2Model:
    cfg = Wav2Vec2Config.from_pretrained(BIG, num_hidden_layers=6)
    return Wav2Vec2Model(cfg)


class Squeeze:
    def __init__(self, lr: float = 1e-4):
        self.mentor = Wav2Vec2Model.from_pretrained(BIG).to("cuda").eval()
        self.pupil = students().to("cuda").train()
        self.opt = torch.optim.AdamW(self.pupil.parameters(), lr=lr)

    def fit(self, batches: Iterable[torch.Tensor]):
        for n, wav in enumerate(batches):
            wav = wav.to("cuda")
            guide = self.mentor(wav).last_hidden_state
            mine = self.pupil(wav).last_hidden_state
            loss = F.l1_loss(mine, guide.detach()) - F.cosine_similarity(mine, guide.detach(), dim=-1).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if n % 50 == 0:
                print(n, loss.item())


if __name__ == "__main__":
    ds = torch.load("wav_chunks.pt", map_location="cpu")
    Squeeze().fit(torch.utils.data.DataLoader(ds, batch_size=8, shuffle=True))
